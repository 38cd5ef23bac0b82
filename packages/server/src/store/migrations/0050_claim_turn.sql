-- Who claims says after which claim it looked, and takes the turn only if there was none since: limits then hold over all processes, and
-- nobody waits while another looks.
create table claim_turn (
  is_only boolean primary key default true check (is_only),
  turn bigint not null
);
insert into claim_turn (turn) values (0);
