# For node:24-bookworm-slim. The authorities are those of this machine, whose network may have its own.
FROM tether-stand-in/debian
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY local /usr/local
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
CMD ["node"]
