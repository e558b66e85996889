# For valkey/valkey: Redis 7, from which Valkey comes.
FROM tether-stand-in/tools
RUN ln -s redis-server /usr/bin/valkey-server \
 && ln -s redis-cli /usr/bin/valkey-cli \
 && mkdir /data && chown redis:redis /data
WORKDIR /data
USER redis
CMD ["valkey-server"]
