/** Whether a message that was given to an agent stands in what the agent asks its model. */

type Fields = Readonly<Record<string, unknown>>;
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const MODEL_ROLES: ReadonlySet<unknown> = new Set(["assistant", "model"]);
/** OpenAI Responses write the model's own items without a role. */
const MODEL_ITEMS: ReadonlySet<unknown> = new Set(["reasoning", "function_call", "custom_tool_call"]);

export const isFromModel = (item: unknown): boolean =>
  isFields(item) && (MODEL_ROLES.has(item["role"]) || (item["role"] === undefined && MODEL_ITEMS.has(item["type"])));

/** The conversation, as each dialect calls it. */
export const listItems = (body: Fields): readonly unknown[] | undefined =>
  [body["messages"], body["input"], body["contents"]].find((list) => Array.isArray(list)) as
    | readonly unknown[]
    | undefined;

/** What was said to the model since it last spoke: older words were seen by an earlier request. */
function listNews(body: Fields): readonly unknown[] {
  const items = listItems(body);
  if (items === undefined) return [body["input"]];
  return items.slice(items.findLastIndex(isFromModel) + 1);
}

function* walkTexts(root: unknown): Generator<string> {
  const open: unknown[] = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value === "string") yield value;
    else if (Array.isArray(value)) open.push(...value.filter((item) => item !== null && item !== undefined));
    else if (isFields(value)) open.push(...Object.values(value).filter((item) => item !== null && item !== undefined));
  }
}

/** Agents trim what they are given. */
export function pickSeen<M extends { readonly content: string }>(body: Fields, messages: readonly M[]): readonly M[] {
  if (messages.length === 0) return [];
  const texts = [...walkTexts(listNews(body))];
  return messages.filter(({ content }) => {
    const wanted = content.trim();
    return wanted !== "" && texts.some((text) => text.includes(wanted));
  });
}
