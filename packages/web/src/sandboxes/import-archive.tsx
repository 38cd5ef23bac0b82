/** Brings in a run that was taken along as a file: it is kept here with its log, files and replay. */
import { ArtifactId } from "@drover/contract";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { FileInput, LoaderCircle } from "lucide-react";
import { useRef } from "react";
import { client } from "../data/client.ts";
import { queryClient } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { notify } from "../ui/notify.ts";
import { Tooltip } from "../ui/tooltip.tsx";

/** An archive ends with its seal in a block of its own and two empty blocks; the server checks it against all the rest. */
const BLOCK = 512;

async function readSeal(file: File): Promise<ArtifactId> {
  const seal = ArtifactId.safeParse((await file.slice(-3 * BLOCK, -2 * BLOCK).text()).slice(0, 64));
  if (!seal.success) throw new Error("This file is no archive of Drover, or not all of it.");
  return seal.data;
}

export function ImportArchive() {
  const navigate = useNavigate();
  const field = useRef<HTMLInputElement>(null);
  const bring = useMutation({
    mutationFn: async (file: File) =>
      client.importArchive({ params: { archive_id: await readSeal(file) }, query: {} }, { bytes: file }),
    onSuccess: (sandbox) => {
      notify.good("The run is here, with everything it brought along");
      void queryClient.invalidateQueries({ queryKey: ["sandboxes"] });
      void navigate({ to: "/sandboxes/$sandboxId", params: { sandboxId: sandbox.id } });
    },
    onError: (error) => notify.bad(`Not brought in: ${error.message}`),
  });
  return (
    <>
      <Tooltip label="Bring in an archive">
        <Button
          look="ghost"
          size="icon"
          className="max-md:hidden"
          aria-label="Bring in an archive"
          disabled={bring.isPending}
          onClick={() => field.current?.click()}
        >
          {bring.isPending ? <LoaderCircle size={16} className="animate-spin" /> : <FileInput size={16} />}
        </Button>
      </Tooltip>
      <input
        ref={field}
        type="file"
        accept=".tar"
        hidden
        data-testid="archive-file"
        onChange={({ target }) => {
          const [file] = target.files ?? [];
          target.value = "";
          if (file !== undefined) bring.mutate(file);
        }}
      />
    </>
  );
}
