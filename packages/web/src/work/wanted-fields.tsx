/** What is wanted, in a title and in words: of a new ticket as of a new task. */
import { Field } from "../ui/field.tsx";
import { TextArea } from "../ui/select.tsx";

interface Wanted {
  readonly title: string;
  readonly description: string;
}

export const NOTHING_WANTED: Wanted = { title: "", description: "" };

export const toWanted = ({ title, description }: Wanted) => ({
  title: title.trim(),
  ...(description.trim() === "" ? {} : { description: description.trim() }),
});

interface WantedFieldsProps {
  readonly wanted: Wanted;
  readonly onChange: (wanted: Wanted) => void;
  /** Of the words. */
  readonly label: string;
}

export const WantedFields = ({ wanted, onChange, label }: WantedFieldsProps) => (
  <>
    <Field
      label="Title"
      data-focus-first
      value={wanted.title}
      maxLength={500}
      onChange={(event) => onChange({ ...wanted, title: event.target.value })}
    />
    <TextArea
      label={label}
      rows={5}
      value={wanted.description}
      onChange={(event) => onChange({ ...wanted, description: event.target.value })}
    />
  </>
);
