"""The faults of a chaos run, by what they concern, and the plan that a seed makes of them.

The series run beside each other, the faults of one series one after another.
"""
import random

import faults_damage as on_data
import faults_redis as on_redis
import faults_workers as on_workers
import faults_zookeeper as on_zookeeper

SERIES = {
    "workers": [on_workers.KillWorker, on_workers.FreezeWorker, on_workers.LeaveAndJoin,
                on_workers.Join, on_workers.CutWorker, on_workers.CutWorkerFromRedis,
                on_workers.CutWorkerFromZooKeeper, on_workers.LoseRequests, on_workers.LoseReplies,
                on_workers.FlapWorker, on_workers.JumpWorkerClock, on_workers.JumpSenderClock],
    "redis": [on_redis.KillMaster, on_redis.FreezeMaster, on_redis.CutMaster, on_redis.KillReplica,
              on_redis.Failover, on_redis.Migrate, on_redis.Migrate, on_redis.MigrateAtomically,
              on_redis.OutOfMemory, on_redis.PauseClients, on_redis.KillClients,
              on_redis.FlushScripts],
    "zookeeper": [on_zookeeper.KillZooKeeperLeader, on_zookeeper.FreezeZooKeeperLeader,
                  on_zookeeper.CutZooKeeperLeader, on_zookeeper.LoseQuorum,
                  on_zookeeper.LoseZooKeeperData, on_zookeeper.DeleteMember,
                  on_zookeeper.DamageMember, on_zookeeper.EvictMember, on_zookeeper.ExpireSession,
                  on_zookeeper.DeleteMembers, on_zookeeper.DeleteAssignment,
                  on_zookeeper.DamageAssignment, on_zookeeper.DeleteTopicNode,
                  on_zookeeper.DeleteTopicNodes, on_zookeeper.DeleteLeader,
                  on_zookeeper.DamageLeader, on_zookeeper.DeleteLeaderEpoch],
    "damage": [on_data.LoseSlot, on_data.LoseSlot, on_data.LoseDefinition, on_data.EmptyNode],
}
# This takes long, so it comes in half of the runs, once and early.
LONG, LONG_RUN_S, EARLY = on_workers.LoseRedis, 60, 3
FORMS = {"faults": ["workers", "redis", "zookeeper"], "damage": ["workers", "zookeeper", "damage"]}


def long_at(world, seed, series):
    """The place of the long fault in the series; None: it does not come."""
    chance = random.Random(f"{seed} long {series}")
    if series != "workers" or world.seconds < LONG_RUN_S or chance.random() < 0.5:
        return None
    return chance.randrange(EARLY)


def plan(world, seed, series):
    """The faults of a series, without end: the same for the same seed."""
    count, long = 0, long_at(world, seed, series)
    chance = random.Random(f"{seed} {series}")
    kinds = [kind for kind in SERIES[series] if kind.is_possible(world)]
    for kind in [kind for kind in SERIES[series] if kind not in kinds]:
        print(f"chaos: {kind.__name__} is left out: the servers cannot do it", flush=True)
    late = chance.random() < 0.5  # what ends the history of coordination comes last
    deck = []
    while True:
        if not deck:  # each kind comes before one comes twice
            deck = chance.sample(kinds, len(kinds))
            deck.sort(key=lambda kind: late and not kind.ends_history)
        kind = LONG if count == long else deck.pop()
        count += 1
        fault = kind(world, random.Random(chance.random()),
                     chance.uniform(kind.shortest, kind.longest))
        yield chance.uniform(0.3, 2.0), fault
