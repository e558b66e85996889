# For registry.k8s.io/kube-apiserver, which has neither a shell nor anything else besides.
FROM scratch
COPY kube-apiserver /usr/local/bin/kube-apiserver
ENTRYPOINT ["kube-apiserver"]
