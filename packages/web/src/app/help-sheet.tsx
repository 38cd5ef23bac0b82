/** All keys, one key away from everywhere. */
import { Dialog } from "../ui/dialog.tsx";
import { KeyList } from "./key-list.tsx";

export const HelpSheet = ({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) => (
  <Dialog isOpen={isOpen} onClose={onClose} title="Keyboard" isText>
    <KeyList />
  </Dialog>
);
