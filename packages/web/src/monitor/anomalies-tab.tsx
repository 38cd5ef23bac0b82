/** Runs that behave unlike the others, and what makes them so. */
import { useQuery } from "@tanstack/react-query";
import { Section } from "../pages/section.tsx";
import { Listing } from "../ui/listing.tsx";
import { Empty } from "../ui/empty.tsx";
import { AnomalyLine, useAcknowledgeKey } from "./anomaly-line.tsx";
import { useTitles } from "./evidence.tsx";
import { anomaliesQuery } from "./queries.ts";

export function AnomaliesTab() {
  const titles = useTitles();
  useAcknowledgeKey();
  const anomalies = useQuery(anomaliesQuery);
  return (
    <Section title="Anomalies of the last seven days">
      <Listing
        read={anomalies}
        what="The anomalies"
        height="h-24"
        empty={
          <Empty title="Nobody stands out">
            A run is raised here when it is slower, fails more, uses more or waits longer than the others, several
            readings in a row.
          </Empty>
        }
      >
        {(items) => items.map((anomaly) => <AnomalyLine key={anomaly.id} anomaly={anomaly} titles={titles} />)}
      </Listing>
    </Section>
  );
}
