/* admin.h - clients and their events; topics, stored messages and schedules. */
#ifndef SLOTMQ_NODE_ADMIN_H
#define SLOTMQ_NODE_ADMIN_H

#include "handle.h"

napi_value admin_client_new(napi_env env, napi_callback_info info);
napi_value admin_client_poll(napi_env env, napi_callback_info info);
napi_value admin_limit_new(napi_env env, napi_callback_info info);
napi_value admin_call(napi_env env, napi_callback_info info);
napi_value admin_schedule_next(napi_env env, napi_callback_info info);

#endif
