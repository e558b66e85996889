# What the next three take from Debian.
FROM tether-stand-in/debian
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends redis-server etcd-client prometheus
