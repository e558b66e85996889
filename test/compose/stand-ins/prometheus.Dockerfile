# For prom/prometheus.
FROM tether-stand-in/tools
RUN mkdir -p /prometheus && chown 65534:65534 /prometheus
WORKDIR /prometheus
USER 65534:65534
ENTRYPOINT ["/bin/prometheus"]
