"""The faults of a chaos run, by what they concern, and the plan that a seed makes of them.

The series run beside each other, the faults of one series one after another.
"""
import random

import faults_clocks as on_clocks
import faults_damage as on_data
import faults_redis as on_redis
import faults_tree as on_tree
import faults_workers as on_workers
import faults_zookeeper as on_zookeeper

SERIES = {
    "workers": [on_workers.KillWorker, on_workers.FreezeWorker, on_workers.LeaveAndJoin,
                on_workers.Join, on_workers.CutWorker, on_workers.CutWorkerFromRedis,
                on_workers.CutWorkerFromZooKeeper, on_workers.LoseZooKeeperRequests,
                on_workers.LoseZooKeeperReplies, on_workers.LoseRequests, on_workers.LoseReplies,
                on_workers.FlapWorker, on_workers.JumpWorkerClock, on_workers.JumpSenderClock],
    "redis": [on_redis.KillMaster, on_redis.FreezeMaster, on_redis.CutMaster, on_redis.KillReplica,
              on_redis.Failover, on_redis.Migrate, on_redis.Migrate, on_redis.MigrateAtomically,
              on_redis.OutOfMemory, on_redis.PauseClients, on_redis.KillClients,
              on_redis.FlushScripts, on_redis.DenyCommand, on_redis.LoseRegistry],
    "zookeeper": [on_zookeeper.KillZooKeeperLeader, on_zookeeper.FreezeZooKeeperLeader,
                  on_zookeeper.CutZooKeeperLeader, on_zookeeper.LoseQuorum,
                  on_zookeeper.LoseZooKeeperData, on_zookeeper.DeleteMember,
                  on_zookeeper.DamageMember, on_zookeeper.EvictMember, on_zookeeper.ExpireSession,
                  on_zookeeper.DeleteMembers, on_zookeeper.DeleteAssignment,
                  on_zookeeper.DamageAssignment, on_zookeeper.DeleteTopicNode,
                  on_zookeeper.DeleteTopicNodes, on_zookeeper.DeleteLeader,
                  on_zookeeper.DamageLeader, on_zookeeper.DeleteLeaderEpoch],
    "clocks": [on_clocks.StepClock, on_clocks.StepClock, on_clocks.PromoteLateClock,
               on_clocks.LoseWritesToLateClock, on_redis.Failover, on_redis.KillClients],
    "damage": [on_data.LoseSlot, on_data.LoseSlot, on_data.LoseDefinition, on_data.EmptyNode],
}
# Those of a fleet in Redis alone: the master of its tree is a server as any other, so what is done to
# servers is done one after another.
SERIES["members"] = [
    on_workers.KillWorker, on_workers.FreezeWorker, on_workers.LeaveAndJoin, on_workers.Join,
    on_workers.CutWorker, on_workers.LoseRequests, on_workers.LoseReplies, on_workers.FlapWorker,
    on_workers.JumpWorkerClock, on_workers.JumpSenderClock, on_tree.CutWorkerFromTree,
    on_tree.EvictFromTree]
SERIES["masters"] = [
    on_redis.KillMaster, on_redis.FreezeMaster, on_redis.CutMaster, on_redis.Failover,
    on_redis.Migrate, on_redis.PauseClients, on_redis.KillClients, on_redis.DenyCommand,
    on_tree.LoseTreeWrites, on_tree.FailOverTree, on_tree.OlderTree, on_tree.WipeTree,
    on_tree.MigrateTree]
ON_REDIS = {"redis", "masters", "clocks", "damage"}  # one of these in each run
# This takes long, so it comes in half of the runs, once and early.
LONG, LONG_RUN_S, EARLY = on_workers.LoseRedis, 60, 3
FORMS = {"faults": ["workers", "redis", "zookeeper"], "clocks": ["workers", "zookeeper", "clocks"],
         "damage": ["workers", "zookeeper", "damage"]}
FORMS_IN_REDIS = {"faults": ["members", "masters"], "clocks": ["members", "clocks"],
                  "damage": ["members", "damage"]}


def long_at(seconds, seed, series):
    """The place of the long fault in the series of a run; None: it does not come."""
    chance = random.Random(f"{seed} long {series}")
    if series != "workers" or seconds < LONG_RUN_S or chance.random() < 0.5:
        return None
    return chance.randrange(EARLY)


def drawn(seconds, seed, series):
    """What a seed draws for a series in a run of this many seconds, without end: kinds of faults,
    and for each its pause, its own chance and its length.  The servers have no part in it."""
    count, long = 0, long_at(seconds, seed, series)
    chance = random.Random(f"{seed} {series}")
    late = chance.random() < 0.5  # what ends the history of coordination comes last
    deck = []
    while True:
        if not deck:  # each kind comes before one comes twice
            deck = chance.sample(SERIES[series], len(SERIES[series]))
            deck.sort(key=lambda kind: late and not kind.ends_history)
        kind = LONG if count == long else deck.pop()
        count += 1
        own, length = random.Random(chance.random()), chance.uniform(kind.shortest, kind.longest)
        yield kind, chance.uniform(0.3, 2.0), own, length


def plan(world, seed, series):
    """The faults of a series, without end: the same for the same seed, but for those that the
    servers cannot do."""
    left_out = {kind for kind in SERIES[series] if not kind.is_possible(world)}
    for kind in sorted(left_out, key=lambda kind: kind.__name__):
        print(f"chaos: {kind.__name__} is left out: the servers cannot do it", flush=True)
    for kind, pause, own, length in drawn(world.seconds, seed, series):
        if kind not in left_out:
            yield pause, kind(world, own, length)
