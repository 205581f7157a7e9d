package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// settings are worlds in which a defect of the product shows soon that worlds as they come show seldom, by the names that
// internal/verify/mutants has for them. The product keeps its promises in them as in all others.
var settings = map[string]func(*profile){
	// A process is overtaken in the middle of a creation by another one, whose machines go.
	"succession": func(c *profile) {
		quiet(c)
		c.viewLag, c.pausePercent, c.takeovers, c.trouble = 0, 40, true, 20
	},
	// What was asked for under a spec got no reply, and the spec is refused from then on.
	"refused specs": func(c *profile) {
		quiet(c)
		c.edits, c.takeovers, c.cloud.Demanding, c.trouble, c.percent[cloudLost] = true, true, true, 20, 60
	},
	"refused elder": func(c *profile) {
		quiet(c)
		c.edits, c.versions, c.cloud.Demanding, c.trouble, c.percent[cloudLost] = true, true, true, 20, 60
	},
	// People and sets give machines up that caches show for long after.
	"old caches": func(c *profile) {
		quiet(c)
		c.sets, c.singles, c.viewLag = 3, 0, 30*time.Second
	},
	// Watches of some kinds stop, while checks go on by the others.
	"stalled checks": func(c *profile) {
		healthSetting(c)
		c.frail, c.stalls, c.tokens, c.trouble = false, true, false, 30
		c.viewLag, c.pausePercent, c.cloud.Boot, c.percent[instanceDies] = 0, 0, 0, 100
	},
	// Instances die one by one, and machines have second ones, which are collected as fast as can be.
	"dying doubles": func(c *profile) {
		quiet(c)
		lostMachineSetting(c)
		c.trouble, c.percent[instanceDies], c.viewLag = 20, 100, 30*time.Second
		careless(&c.orphans)
	},
	// An instance dies while a second one of its machine is being removed.
	"bereaved": func(c *profile) {
		quiet(c)
		c.collects, c.recreatesLate, c.killsRecorded, c.trouble = true, true, true, 20
		careless(&c.orphans)
	},
	// The collector looks more often than its grace asks for.
	"frequent listings": func(c *profile) {
		quiet(c)
		lostMachineSetting(c)
		careless(&c.orphans)
		c.orphans.Period = 20 * time.Second
	},
	// A process begins with caches that show machines which have gone under the one before it.
	"old successions": func(c *profile) {
		quiet(c)
		c.viewLag, c.takeovers, c.trouble, c.pausePercent, c.percent[cloudExhausted] = 30*time.Second, true, 15, 10, 60
	},
	"papers": func(c *profile) {
		certificateSetting(c)
		c.viewLag, c.percent[apiFails] = 30*time.Second, 30
	},
	// API servers are restored to before a machine was deleted, and caches show that it was.
	"undone": func(c *profile) {
		quiet(c)
		c.restores, c.apart, c.trouble, c.viewLag = true, true, 40, 30*time.Second
	},
	// Machines go soon after their nodes have joined, with pods.
	"old drains": func(c *profile) {
		quiet(c)
		c.apps, c.viewLag, c.cloud.Boot, c.cloud.Stop = 8, 30*time.Second, 0, 0
	},
	// Nodes are uncordoned that were drained, and whose instances are not removed at once.
	"uncordoned": func(c *profile) {
		quiet(c)
		c.apps, c.viewLag, c.pausePercent, c.cloud.Boot, c.percent[cloudThrottled] = 20, 0, 0, 0, 95
		c.hostile, c.trouble = true, 40
	},
	// Writes arrive after people have changed their minds.
	"late writes": func(c *profile) {
		rollsOnly(rollout.Recreate)(c)
		c.percent = [allFaults]int{apiLate: 50}
		c.busy, c.viewLag = 40, 0
	},
	// API servers deny everything for some time, which lets tokens stay, and checks look on.
	"denied": func(c *profile) {
		apiOutageSetting(c)
		c.denials, c.tokens = true, false
	},
	"namesakes": func(c *profile) {
		quiet(c)
		c.neighbours, c.cloud.ByName, c.trouble = true, true, 20
	},
	// API servers are out of reach again and again, while nodes are lost.
	"many outages": func(c *profile) {
		quiet(c)
		c.outages, c.frail, c.apart, c.sets, c.trouble = true, true, true, 2, 15
	},
	"dimmed": apiOutageSetting,
	// Deletions take effect late and unconfirmed, while sets change their size.
	"late deletions": func(c *profile) {
		quiet(c)
		c.deployments, c.singles, c.grown, c.strategy = 1, 0, true, rollout.Rolling
		c.busy, c.dallies, c.percent[apiLate], c.percent[nodeStalls] = 40, true, 60, 100
	},
	// People change their minds about a deployment whose sets hear late of their sizes: watches stop besides.
	"late sizes": func(c *profile) {
		quiet(c)
		c.deployments, c.singles, c.grown, c.strategy = 1, 0, true, rollout.Rolling
		c.busy, c.viewLag, c.pausePercent, c.cloud.Boot = 40, 30*time.Second, 40, 0
		c.stalls, c.trouble = true, 15
	},
	// All nodes go at once, and come back.
	"no nodes": func(c *profile) {
		healthSetting(c)
		c.frail, c.deletesAllNodes = false, true
	},
	// What is being removed, as its machine was lost, is wanted again: a backup brings that back.
	"tardy backups": func(c *profile) {
		quiet(c)
		c.collects, c.recreatesLate, c.trouble, c.pausePercent, c.cloud.ByName = true, true, 30, 0, true
		c.percent[neverJoins] = 100
		c.orphans.Limit.Percent, c.orphans.PerHour = 100, 1000
	},
	// All machines were lost, and listings end early while nobody else knows of their instances.
	"forsaken": func(c *profile) {
		quiet(c)
		c.collects, c.losesAllObjects, c.trouble, c.pausePercent, c.percent[cloudCut] = true, true, 5, 0, 70
		c.singles, c.percent[neverJoins] = 3, 100
		c.orphans.Limit.Percent, c.orphans.MinMachines = 100, 0
	},
	// Another implementation made instances, which carry no UID.
	"nameless twins": func(c *profile) {
		quiet(c)
		c.twins, c.cloud.ByName, c.trouble = true, true, 10
	},
	"copied manifests": func(c *profile) {
		quiet(c)
		c.copies, c.trouble = true, 10
	},
	// Instances are accepted and then given up, and answers about them get lost.
	"accepted and given up": func(c *profile) {
		f, lingers := c.instanceFailureProfile, c.cloud.Lingers
		quiet(c)
		c.instanceFailureProfile, c.cloud.Lingers = f, lingers
		c.sets, c.singles, c.trouble, c.percent[cloudLost], c.percent[listsStale] = 1, 2, 10, 20, 30
		c.fails()
	},
	// Choices are sold out, and answers about them get lost.
	"choices": func(c *profile) {
		f, lingers := c.choiceProfile, c.cloud.Lingers
		quiet(c)
		c.choiceProfile, c.cloud.Lingers = f, lingers
		c.choices = max(2, c.choices)
		c.sets, c.singles, c.trouble, c.percent[cloudLost], c.percent[listsStale] = 1, 2, 10, 20, 30
	},
	// The kubeconfig of the target cluster leads to another cluster, while people delete machines.
	"exchanged target": func(c *profile) {
		quiet(c)
		c.singles, c.apps, c.apart, c.hazard, c.trouble = 2, 4, true, exchangedTarget, 5
	},
	// The target cluster is restored to before nodes joined, while people delete machines.
	"restored target": func(c *profile) {
		quiet(c)
		c.singles, c.apps, c.apart, c.hazard, c.trouble = 2, 4, true, restoredTarget, 5
	},
	// Kubelets call their nodes otherwise than foretold, and take pods.
	"renamed nodes": func(c *profile) {
		quiet(c)
		c.singles, c.sets, c.apps, c.hazard = 3, 1, 4, renamedNodes
	},
	// Kubelets fall silent after pods were evicted that have long to end.
	"silent drains": func(c *profile) {
		quiet(c)
		c.apps, c.hazard, c.percent[nodeStalls] = 8, silentDrains, 100
	},
	// Instances that are being removed are denied while their nodes are ready.
	"denied removals": func(c *profile) {
		quiet(c)
		c.blank, c.hazard, c.trouble, c.pausePercent, c.viewLag = true, deniedRemovals, 20, 0, 0
		c.cloud.Boot, c.cloud.Stop = 0, 10*time.Minute
	},
	// Machines are replaced by their manifests, and moved, while people delete some.
	"replaced manifests": func(c *profile) {
		quiet(c)
		c.scopes, c.hazard, c.trouble, c.percent[cloudLost] = true, replacedManifests, 20, 30
	},
	// Deployments roll to what never joins, and keep what failed for inspection.
	"kept failures": func(c *profile) {
		quiet(c)
		c.deployments, c.singles, c.strategy, c.grown, c.hazard = 1, 0, rollout.Rolling, true, keptFailures
		c.cloud.Boot, c.viewLag, c.pausePercent = 0, 0, 0
	},
	// Nodes of a deployment fail, and API servers are out of reach for long besides.
	"long outages": func(c *profile) {
		quiet(c)
		c.deployments, c.singles, c.grown = 1, 0, true
		c.frail, c.outages, c.trouble = true, true, 6
	},
}

// quiet makes a world in which nothing goes wrong by itself, and nobody but machines is there.
func quiet(c *profile) {
	*c = profile{cloud: c.cloud, viewLag: c.viewLag, pausePercent: c.pausePercent, singles: 4}
	c.cloud.Lag, c.orphans = 0, carefulPolicy()
}

// Settings are their names.
func Settings() []string { return slices.Sorted(maps.Keys(settings)) }

// Setting is a mutation that changes nothing but the world; false: there is none of the name.
func Setting(name string) (*Mutation, bool) {
	set, is := settings[name]
	return &Mutation{Name: "only " + name, Setting: set}, is
}
