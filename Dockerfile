# The server:  docker build -t drover .      The image of sandboxes is docker/Dockerfile.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY . .
RUN npm ci --no-audit --no-fund \
 && node scripts/build.ts \
 && npm prune --omit=dev --no-audit --no-fund

FROM node:24-bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap ca-certificates git tini \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 drover \
 && useradd --uid 10001 --gid 10001 --create-home drover \
 && install --directory --owner=drover --group=drover --mode=0700 /data /shared
COPY --from=build /app /app
WORKDIR /app
USER 10001:10001
ENV NODE_ENV=production DROVER_HOST=0.0.0.0 DROVER_PORT=18000 DROVER_DATA_DIR=/data
EXPOSE 18000
VOLUME ["/data", "/shared"]
# By the shell: it costs milliseconds and ends by itself. A node every few seconds that an engine does not end when it is late piles up on a
# busy machine until the server itself starves.
HEALTHCHECK --interval=15s --timeout=10s --start-period=60s --retries=5 \
  CMD ["timeout", "8", "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/18000; printf 'GET /readyz HTTP/1.0\\r\\nHost: 127.0.0.1\\r\\n\\r\\n' >&3; read -r line <&3; [[ $line == *' 200 '* ]]"]
ENTRYPOINT ["tini", "--"]
CMD ["node", "packages/cli/src/main.ts", "up"]
