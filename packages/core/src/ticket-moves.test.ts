/** The page offers the moves that the machine allows: no more, no less. */
import { TICKET_MOVES, TICKET_STATES } from "@drover/contract/views";
import { expect, test } from "vitest";
import { pickTicketTrigger } from "./ticket-machine.ts";

test("a ticket can be moved on the board exactly where its machine lets it", () => {
  for (const from of TICKET_STATES)
    expect([...TICKET_MOVES[from]].toSorted()).toEqual(
      TICKET_STATES.filter((to) => pickTicketTrigger(from, to) !== undefined).toSorted(),
    );
});
