/** Keeps something as a file of this machine. */
export function downloadFrom(address: string, name: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}

export function downloadText(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  downloadFrom(address, name);
  URL.revokeObjectURL(address);
}
