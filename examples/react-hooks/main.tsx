/** A page of your own: everything that happens, and one sandbox with a box to speak to its agent. */
import { createClient } from "@drover/client";
import { DroverProvider, useEvents, useSandbox } from "@drover/client/react";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";

/** The address of this page, as vite.config.ts hands it on: the credential stays in the development server. */
const client = createClient();

function Everything({ onPick }: { readonly onPick: (sandboxId: string) => void }) {
  const { events, state, clearEvents } = useEvents({ entity_types: ["sandbox"] }, { limit: 50, afterSeq: 0 });
  return (
    <section>
      <h1>Everything</h1>
      <p>
        {state.phase} <button onClick={clearEvents}>Clear</button>
      </p>
      <ol>
        {events.map(({ id, event_type, entity_id }) => (
          <li key={id}>
            <button onClick={() => onPick(entity_id)}>{event_type}</button>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Sandbox({ id }: { readonly id: string }) {
  const { log, messages, sendMessage } = useSandbox(id);
  return (
    <section>
      <h2>{id}</h2>
      <ol>
        {log.events.map((event) => (
          <li key={event.id}>{event.event_type}</li>
        ))}
      </ol>
      <form
        onSubmit={(submitted) => {
          submitted.preventDefault();
          const content = new FormData(submitted.currentTarget).get("content");
          if (typeof content === "string" && content !== "") void sendMessage(content);
          submitted.currentTarget.reset();
        }}
      >
        <label>
          Message <input name="content" />
        </label>
      </form>
      <ul>
        {messages.map(({ key, content, state }) => (
          <li key={key}>
            {content}: {state}
          </li>
        ))}
      </ul>
    </section>
  );
}

function App() {
  const [picked, pick] = useState<string>();
  return (
    <DroverProvider client={client}>
      <Everything onPick={pick} />
      {picked !== undefined && <Sandbox id={picked} />}
    </DroverProvider>
  );
}

const root = document.querySelector("#root");
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
