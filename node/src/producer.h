/* producer.h - sends, and their receipts. */
#ifndef SLOTMQ_NODE_PRODUCER_H
#define SLOTMQ_NODE_PRODUCER_H

#include "handle.h"

napi_value producer_new(napi_env env, napi_callback_info info);
napi_value producer_send(napi_env env, napi_callback_info info);
napi_value producer_poll(napi_env env, napi_callback_info info);

#endif
