/** The newest that was raised and judged, each a step from what is behind it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Section } from "../pages/section.tsx";
import { Empty } from "../ui/empty.tsx";
import { Listing } from "../ui/listing.tsx";
import { AnomalyLine, useAcknowledgeKey } from "./anomaly-line.tsx";
import { useTitles } from "./evidence.tsx";
import { groupBySandbox, Trajectory } from "./guardian-tab.tsx";
import { analysesQuery, anomaliesQuery } from "./queries.ts";

const SHOWN = 3;
const ALL = "text-xs font-medium text-live-ink underline underline-offset-2";

export function Raised() {
  const titles = useTitles();
  useAcknowledgeKey();
  const anomalies = useQuery(anomaliesQuery);
  const analyses = useQuery(analysesQuery);
  return (
    <div className="grid items-start gap-6 lg:grid-cols-2">
      <Section
        title="Anomalies"
        action={
          <Link to="/monitor" search={{ tab: "anomalies" }} className={ALL}>
            All anomalies
          </Link>
        }
      >
        <Listing
          read={anomalies}
          what="The anomalies"
          height="h-24"
          empty={<Empty title="Nobody stands out">A run that behaves unlike the others is raised here.</Empty>}
        >
          {(items) =>
            items.slice(0, SHOWN).map((anomaly) => <AnomalyLine key={anomaly.id} anomaly={anomaly} titles={titles} />)
          }
        </Listing>
      </Section>
      <Section
        title="Guardian"
        action={
          <Link to="/monitor" search={{ tab: "guardian" }} className={ALL}>
            All verdicts
          </Link>
        }
      >
        <Listing
          read={analyses}
          what="The verdicts"
          height="h-24"
          empty={<Empty title="No run was judged yet">Where each run is heading stands here.</Empty>}
        >
          {(items) =>
            groupBySandbox(items)
              .slice(0, SHOWN)
              .map(([sandboxId, own]) => (
                <Trajectory key={sandboxId} sandboxId={sandboxId} analyses={own} titles={titles} />
              ))
          }
        </Listing>
      </Section>
    </div>
  );
}
