/** The price table: what came with Drover, and what somebody set instead. */
import type { Price } from "@drover/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState, type FormEvent } from "react";
import { client } from "../data/client.ts";
import { pricesQuery } from "../data/prices-query.ts";
import { queryClient } from "../data/queries.ts";
import { Section } from "../pages/section.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Empty } from "../ui/empty.tsx";
import { Field } from "../ui/field.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";

const readPrices = () => queryClient.invalidateQueries({ queryKey: pricesQuery.queryKey });

const PARTS = [
  { name: "input", label: "Input" },
  { name: "output", label: "Output" },
  { name: "cache_read", label: "Read from cache" },
  { name: "cache_write", label: "Written to cache" },
] as const;
type Part = (typeof PARTS)[number]["name"];

/** Cents at least, so that the points stand below each other, and no digit of a price is left out. */
const formatPrice = (usd: number | null): string =>
  usd === null ? "—" : `$${usd.toFixed(Math.max(2, String(usd).split(".")[1]?.length ?? 0))}`;

export function Prices() {
  const prices = useQuery(pricesQuery);
  const [edited, setEdited] = useState<Price | "new">();
  return (
    <Section
      title="Prices"
      action={
        <Button size="small" onClick={() => setEdited("new")}>
          <Plus size={14} /> New price
        </Button>
      }
    >
      {prices.isPending && <div className="skeleton m-4 h-40" />}
      {prices.isError && (
        <div className="p-4">
          <Problem error={prices.error} what="The prices could not be read" onRetry={() => void prices.refetch()} />
        </div>
      )}
      {prices.data?.items.length === 0 && <Empty title="No model has a price">Calls are counted in tokens only.</Empty>}
      {prices.data !== undefined && prices.data.items.length > 0 && (
        <p className="px-4 py-3 text-xs text-ink-3">
          US dollars for a million tokens. A name with * stands for all that it matches.
        </p>
      )}
      {prices.data !== undefined && prices.data.items.length > 0 && (
        <div className="max-h-112 overflow-auto rounded-b-2xl" tabIndex={0} role="region" aria-label="Price table">
          <table className="w-full text-left text-xs tabular-nums">
            <caption className="sr-only">US dollars for a million tokens, by model</caption>
            <thead className="sticky top-0 bg-surface text-ink-3">
              <tr>
                <th scope="col" className="px-4 py-2 font-medium">
                  Model
                </th>
                {PARTS.map(({ name, label }) => (
                  <th key={name} scope="col" className="px-2 py-2 text-right font-medium sm:whitespace-nowrap">
                    {label}
                  </th>
                ))}
                <th scope="col" className="px-4 py-2 text-right font-medium">
                  As of
                </th>
              </tr>
            </thead>
            <tbody>
              {prices.data.items.map((price) => (
                <tr key={price.model} data-price={price.model} className="border-t border-line hover:bg-hover">
                  <th scope="row" className="px-4 py-1.5 font-normal whitespace-nowrap">
                    <button
                      type="button"
                      onClick={() => setEdited(price)}
                      className="rounded font-mono text-live-ink underline underline-offset-2"
                    >
                      {price.model}
                    </button>
                  </th>
                  {PARTS.map(({ name }) => (
                    <td key={name} className="px-2 py-1.5 text-right">
                      {formatPrice(price[name])}
                    </td>
                  ))}
                  <td className="px-4 py-1.5 text-right whitespace-nowrap text-ink-3">
                    {price.origin === "edited" ? "your own" : price.as_of}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {edited !== undefined && <EditPrice price={edited} onClose={() => setEdited(undefined)} />}
    </Section>
  );
}

const toText = (price: Price | "new", part: Part): string => (price === "new" ? "" : String(price[part] ?? ""));
const isPrice = (text: string): boolean => text.trim() !== "" && Number(text) >= 0;

const putBack = ({ model, input, output, cache_read, cache_write }: Price): Promise<unknown> =>
  client
    .putPrice({ body: { model, input, output, cache_read, cache_write } })
    .then(readPrices)
    .catch((error: unknown) =>
      notify.bad(`Not put back: ${error instanceof Error ? error.message : "it was refused"}`),
    );

function EditPrice({ price, onClose }: { readonly price: Price | "new"; readonly onClose: () => void }) {
  const [model, setModel] = useState(price === "new" ? "" : price.model);
  const [texts, setTexts] = useState<Readonly<Record<Part, string>>>({
    input: toText(price, "input"),
    output: toText(price, "output"),
    cache_read: toText(price, "cache_read"),
    cache_write: toText(price, "cache_write"),
  });
  const toValue = (part: Part) => (isPrice(texts[part]) ? Number(texts[part]) : null);
  const put = useMutation({
    mutationFn: () =>
      client.putPrice({
        body: {
          model: model.trim(),
          input: Number(texts.input),
          output: Number(texts.output),
          cache_read: toValue("cache_read"),
          cache_write: toValue("cache_write"),
        },
      }),
    onSuccess: () => {
      onClose();
      notify.good(`${model.trim()} has a price`);
      return readPrices();
    },
  });
  const forget = useMutation({
    mutationFn: () => client.deletePrice({ params: { model } }),
    onSuccess: () => {
      if (price !== "new") notify.undoable(`The price of ${model} is forgotten`, () => void putBack(price));
      onClose();
      return readPrices();
    },
    onError: (error) => notify.bad(`Not forgotten: ${error.message}`),
  });
  const isReady = model.trim() !== "" && isPrice(texts.input) && isPrice(texts.output);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isReady) put.mutate();
  };
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={price === "new" ? "New price" : price.model}
      description="US dollars for a million tokens. A name with * stands for all that it matches."
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        {price === "new" && (
          <Field
            label="Model"
            data-focus-first
            spellCheck={false}
            placeholder="claude-sonnet-*"
            value={model}
            onChange={(event) => setModel(event.target.value)}
          />
        )}
        <div className="grid grid-cols-2 gap-4">
          {PARTS.map(({ name, label }) => (
            <Field
              key={name}
              label={label}
              inputMode="decimal"
              value={texts[name]}
              complaint={texts[name] !== "" && !isPrice(texts[name]) ? "A number, 0 or more." : undefined}
              onChange={(event) => setTexts((old) => ({ ...old, [name]: event.target.value }))}
            />
          ))}
        </div>
        {put.isError && <Problem error={put.error} what="The price was not kept" />}
        <div className="flex justify-end gap-2">
          {price !== "new" && price.origin === "edited" && (
            <Button look="ghost" disabled={forget.isPending} onClick={() => forget.mutate()}>
              Forget it
            </Button>
          )}
          <Button type="submit" look="solid" disabled={!isReady || put.isPending}>
            Keep price
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
