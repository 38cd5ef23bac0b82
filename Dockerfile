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
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s --retries=5 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:18000/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--"]
CMD ["node", "packages/cli/src/main.ts", "up"]
