# For registry.k8s.io/etcd: etcd as the tests have built it, and Debian's etcdctl.
FROM tether-stand-in/tools
COPY etcd /usr/local/bin/etcd
ENTRYPOINT ["etcd"]
