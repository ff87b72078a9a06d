/* worker.h - a header of 0.1.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#error "slotmq/worker.h of 0.1 is slotmq/consumer.h now: see Upgrading in CHANGELOG.md"
