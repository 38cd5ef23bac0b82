/** Vendors with their keys, and what their models cost. */
import { ModelKeys } from "./model-keys.tsx";
import { Prices } from "./prices.tsx";

export const Models = () => (
  <>
    <ModelKeys />
    <Prices />
  </>
);
