# The images that compose.yaml and the Dockerfile name, made of Debian's packages and npm's Node, for where no registry of images can be reached.
# Beside each of them stands only what the published image is known to do when it starts.
FROM debian:bookworm-slim AS node
COPY node /usr/local/bin/node
COPY lib /usr/local/lib
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
# The machine's certificates, which came with the base.
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt

FROM debian:bookworm-slim AS postgres
RUN apt-get update && apt-get install -y --no-install-recommends postgresql
COPY postgres-entrypoint.sh /usr/local/bin/
ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin PGDATA=/var/lib/postgresql/data
VOLUME /var/lib/postgresql/data
STOPSIGNAL SIGINT
ENTRYPOINT ["sh", "/usr/local/bin/postgres-entrypoint.sh"]

FROM debian:bookworm-slim AS redis
RUN apt-get update && apt-get install -y --no-install-recommends redis-server && install --directory --owner=redis /data
WORKDIR /data
USER redis

FROM debian:bookworm-slim AS nginx
RUN apt-get update && apt-get install -y --no-install-recommends nginx-light
STOPSIGNAL SIGQUIT

FROM debian:bookworm-slim AS compose
RUN mkdir /plugin /etc/apt/next \
 && for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do [ ! -f "$file" ] || sed 's/bookworm/trixie/g' "$file" > "/etc/apt/next/${file##*/}"; done \
 && apt-get -o Dir::Etc::sourcelist=/etc/apt/next/sources.list -o Dir::Etc::sourceparts=/etc/apt/next update \
 && cd /plugin \
 && apt-get -o Dir::Etc::sourcelist=/etc/apt/next/sources.list -o Dir::Etc::sourceparts=/etc/apt/next download docker-compose \
 && dpkg-deb --extract docker-compose_*.deb /plugin
