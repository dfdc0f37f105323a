# SPDX-License-Identifier: GPL-2.0-or-later
#
# A CI image: Debian 12 with pyrr and gdb, run as an ordinary user.
#
#   docker build -t pyrr .
#   docker run --rm -it --cap-add SYS_PTRACE pyrr pyrr doctor
#
# pyrr traces what it runs, so the container needs ptrace: kernels >= 4.8 with a current
# Docker allow it by default; older ones want --cap-add SYS_PTRACE.
FROM debian:12 AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev libzstd-dev zlib1g-dev \
        libzydis-dev libzycore-dev python3 python3-venv python3-dev \
    && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN python3 -m venv /opt/pyrr && /opt/pyrr/bin/pip install --no-cache-dir /src

FROM debian:12
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 gdb libzydis4.0 libzycore1.4 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --shell /bin/bash pyrr
COPY --from=build /opt/pyrr /opt/pyrr
RUN ln -s /opt/pyrr/bin/pyrr /usr/local/bin/pyrr
USER pyrr
WORKDIR /home/pyrr
CMD ["pyrr", "--help"]
