/** The whole table of endpoints, for calls that the start does not need. */
export { api } from "@drover/contract";
