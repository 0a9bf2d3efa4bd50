# The image of Berth itself. Run `npm run pack` first: the image is made from dist/berth-<version>.tgz. See docs/container.md.
ARG NODE_IMAGE=node:24-bookworm-slim
FROM ${NODE_IMAGE}

# git for projects in repositories, iptables for the egress filter of Docker projects. Skipped where the base image has no apt.
RUN if command -v apt-get > /dev/null; then \
      apt-get update && apt-get install -y --no-install-recommends ca-certificates git iptables openssh-client \
      && rm -rf /var/lib/apt/lists/*; \
    fi

COPY dist/berth-*.tgz /tmp/
# The base image is Node 24, so the package needs no other package: `--offline` proves it.
RUN npm install --global --omit=optional --offline --no-audit --no-fund /tmp/berth-*.tgz && rm /tmp/berth-*.tgz

# Projects are containers beside this one: they keep serving while this one restarts or is replaced.
ENV BERTH_DATA_DIR=/data BERTH_LOG_FORMAT=json BERTH_ON_STOP=keep
VOLUME /data

HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.BERTH_PORT || 4000}/api/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

CMD ["berth", "up"]
