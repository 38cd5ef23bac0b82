/** In a file there is no server: whoever asks one is told so, and nothing goes out. */
const refuse = () => Promise.reject(new Error("This is a file: there is no server to ask."));

export const watchToken = undefined;
export const client: object = new Proxy({}, { get: () => refuse });
