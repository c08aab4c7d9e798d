# nginx drains on QUIT and drops everything on TERM, so its image has QUIT as its
# stop signal. drainit counts it as one, too, and signals the master alone.
#
#   docker build --target build -t drainit .     beside the README's Dockerfile
#   docker build -f nginx.Dockerfile -t web .

FROM nginx
# From an image that holds the binary. A file beside this one does as well.
COPY --from=drainit /drainit /drainit
STOPSIGNAL SIGQUIT
# Where an image has an entrypoint of its own, it stays, behind drainit.
ENTRYPOINT ["/drainit", "--stop-signal", "QUIT", "--", "/docker-entrypoint.sh"]
CMD ["nginx", "-g", "daemon off;"]
