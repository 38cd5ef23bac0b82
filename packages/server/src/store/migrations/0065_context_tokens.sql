-- How many tokens a model takes at once; null: nobody said.
alter table model_prices add column context_tokens integer;
