/* consumer.h - consumers, and the deliveries that they have polled. */
#ifndef SLOTMQ_NODE_CONSUMER_H
#define SLOTMQ_NODE_CONSUMER_H

#include "handle.h"

napi_value consumer_new(napi_env env, napi_callback_info info);
napi_value consumer_poll(napi_env env, napi_callback_info info);
napi_value consumer_answer(napi_env env, napi_callback_info info);
napi_value consumer_extend(napi_env env, napi_callback_info info);
napi_value consumer_check(napi_env env, napi_callback_info info);
napi_value consumer_set_most(napi_env env, napi_callback_info info);
napi_value consumer_stop(napi_env env, napi_callback_info info);

/* What was never answered, of a consumer that was freed: it is delivered again. */
void consumer_release_held(struct handle *handle);

#endif
