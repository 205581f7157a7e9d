package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// settings are worlds that soon show defects that are rare in worlds drawn from seeds, by their names in
// internal/verify/mutants. The product keeps its promises in them, too.
var settings = map[string]func(*profile){
	// Another process takes over in the middle of a creation, and users delete the machine.
	"succession": func(c *profile) {
		quiet(c)
		c.viewLag, c.pausePercent, c.takeovers, c.trouble = 0, 40, true, 20
	},
	// A creation gets no reply, and the cloud refuses its spec from then on.
	"refused specs": func(c *profile) {
		quiet(c)
		c.edits, c.takeovers, c.cloud.Demanding, c.trouble, c.percent[cloudLost] = true, true, true, 20, 60
	},
	"refused elder": func(c *profile) {
		quiet(c)
		c.edits, c.versions, c.cloud.Demanding, c.trouble, c.percent[cloudLost] = true, true, true, 20, 60
	},
	// Users and sets delete machines that caches continue to show for long.
	"old caches": func(c *profile) {
		quiet(c)
		c.sets, c.singles, c.viewLag = 3, 0, 30*time.Second
	},
	// Watches of some kinds stop, while checks use the other kinds.
	"stalled checks": func(c *profile) {
		healthSetting(c)
		c.frail, c.stalls, c.tokens, c.trouble = false, true, false, 30
		c.viewLag, c.pausePercent, c.cloud.Boot, c.percent[instanceDies] = 0, 0, 0, 100
	},
	// Instances die one by one, and machines have second instances, which are collected as fast as possible.
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
	// The collector lists more often than its quarantine requires.
	"frequent listings": func(c *profile) {
		quiet(c)
		lostMachineSetting(c)
		careless(&c.orphans)
		c.orphans.Period = 20 * time.Second
	},
	// A process begins with caches that show machines that were deleted while its predecessor led.
	"old successions": func(c *profile) {
		quiet(c)
		c.viewLag, c.takeovers, c.trouble, c.pausePercent, c.percent[cloudExhausted] = 30*time.Second, true, 15, 10, 60
	},
	"papers": func(c *profile) {
		certificateSetting(c)
		c.viewLag, c.percent[apiFails] = 30*time.Second, 30
	},
	// API servers are restored to a state before the deletion of a machine, and caches still show the deletion.
	"undone": func(c *profile) {
		quiet(c)
		c.restores, c.apart, c.trouble, c.viewLag = true, true, 40, 30*time.Second
	},
	// Machines with pods are deleted soon after their nodes have joined.
	"old drains": func(c *profile) {
		quiet(c)
		c.apps, c.viewLag, c.cloud.Boot, c.cloud.Stop = 8, 30*time.Second, 0, 0
	},
	// Users uncordon drained nodes whose instances are not yet removed.
	"uncordoned": func(c *profile) {
		quiet(c)
		c.apps, c.viewLag, c.pausePercent, c.cloud.Boot, c.percent[cloudThrottled] = 20, 0, 0, 0, 95
		c.hostile, c.trouble = true, 40
	},
	// Writes arrive late, after users have changed the deployment again.
	"late writes": func(c *profile) {
		rollsOnly(rollout.Recreate)(c)
		c.percent = [allFaults]int{apiLate: 50}
		c.busy, c.viewLag = 40, 0
	},
	// API servers deny every request for some time: tokens stay, and checks wait.
	"denied": func(c *profile) {
		apiOutageSetting(c)
		c.denials, c.tokens = true, false
	},
	"namesakes": func(c *profile) {
		quiet(c)
		c.neighbours, c.cloud.ByName, c.trouble = true, true, 20
	},
	// API servers become unreachable again and again while nodes are lost.
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
	// Users change a deployment often, and the sets see their sizes late. Watches stop in addition.
	"late sizes": func(c *profile) {
		quiet(c)
		c.deployments, c.singles, c.grown, c.strategy = 1, 0, true, rollout.Rolling
		c.busy, c.viewLag, c.pausePercent, c.cloud.Boot = 40, 30*time.Second, 40, 0
		c.stalls, c.trouble = true, 15
	},
	// All nodes are deleted at once and return.
	"no nodes": func(c *profile) {
		healthSetting(c)
		c.frail, c.deletesAllNodes = false, true
	},
	// The instance of a lost machine is being removed while a backup restores the machine.
	"tardy backups": func(c *profile) {
		quiet(c)
		c.collects, c.recreatesLate, c.trouble, c.pausePercent, c.cloud.ByName = true, true, 30, 0, true
		c.percent[neverJoins] = 100
		c.orphans.Limit.Percent, c.orphans.PerHour = 100, 1000
	},
	// All machines were lost. Listings end early, while only the collector knows of the machines' instances.
	"forsaken": func(c *profile) {
		quiet(c)
		c.collects, c.losesAllObjects, c.trouble, c.pausePercent, c.percent[cloudCut] = true, true, 5, 0, 70
		c.singles, c.percent[neverJoins] = 3, 100
		c.orphans.Limit.Percent, c.orphans.MinMachines = 100, 0
	},
	// Another implementation created instances, which carry no UID.
	"nameless twins": func(c *profile) {
		quiet(c)
		c.twins, c.cloud.ByName, c.trouble = true, true, 10
	},
	"copied manifests": func(c *profile) {
		quiet(c)
		c.copies, c.trouble = true, 10
	},
	// Accepted instances fail to start, and answers about them get lost.
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
	// The kubeconfig of the target cluster points to another cluster, while users delete machines.
	"exchanged target": func(c *profile) {
		quiet(c)
		c.singles, c.apps, c.apart, c.hazard, c.trouble = 2, 4, true, exchangedTarget, 5
	},
	// The target cluster is restored to a state before nodes joined, while users delete machines.
	"restored target": func(c *profile) {
		quiet(c)
		c.singles, c.apps, c.apart, c.hazard, c.trouble = 2, 4, true, restoredTarget, 5
	},
	// Kubelets use other node names than predicted, and run pods.
	"renamed nodes": func(c *profile) {
		quiet(c)
		c.singles, c.sets, c.apps, c.hazard = 3, 1, 4, renamedNodes
	},
	// Kubelets fall silent after the eviction of pods with a long grace period.
	"silent drains": func(c *profile) {
		quiet(c)
		c.apps, c.hazard, c.percent[nodeStalls] = 8, silentDrains, 100
	},
	// The cloud hides instances that are being removed while their nodes are ready.
	"denied removals": func(c *profile) {
		quiet(c)
		c.blank, c.hazard, c.trouble, c.pausePercent, c.viewLag = true, deniedRemovals, 20, 0, 0
		c.cloud.Boot, c.cloud.Stop = 0, 10*time.Minute
	},
	// Users replace machines by their manifests, move them, and delete some.
	"replaced manifests": func(c *profile) {
		quiet(c)
		c.scopes, c.hazard, c.trouble, c.percent[cloudLost] = true, replacedManifests, 20, 30
	},
	// The status of machines is removed while another process takes over, replies get lost, and listings lag. Half of the worlds have
	// choices, and their clouds may have tokens that count in one zone only.
	"removed statuses": func(c *profile) {
		f, lag, lingers := c.choiceProfile, c.cloud.Lag, c.cloud.Lingers
		quiet(c)
		c.sets, c.singles, c.hazard, c.trouble, c.percent[cloudLost], c.percent[listsStale] = 1, 2, removedStatuses, 15, 30, 30
		if c.cloud.Lag, c.cloud.Lingers = lag, lingers; f.choices > 0 {
			c.choiceProfile = f
		}
	},
	// Deployments roll to machines that never join, and keep failed ones for inspection.
	"kept failures": func(c *profile) {
		quiet(c)
		c.deployments, c.singles, c.strategy, c.grown, c.hazard = 1, 0, rollout.Rolling, true, keptFailures
		c.cloud.Boot, c.viewLag, c.pausePercent = 0, 0, 0
	},
	// Nodes of a deployment fail, and API servers are unreachable for long.
	"long outages": func(c *profile) {
		quiet(c)
		c.deployments, c.singles, c.grown = 1, 0, true
		c.frail, c.outages, c.trouble = true, true, 6
	},
}

// quiet makes a world without faults and without controllers other than that of machines.
func quiet(c *profile) {
	*c = profile{cloud: c.cloud, viewLag: c.viewLag, pausePercent: c.pausePercent, singles: 4}
	c.cloud.Lag, c.orphans = 0, carefulPolicy()
}

// Settings are the names of the settings.
func Settings() []string { return slices.Sorted(maps.Keys(settings)) }

// Setting returns a mutation that changes only the world; false: no setting has the name.
func Setting(name string) (*Mutation, bool) {
	set, is := settings[name]
	return &Mutation{Name: "only " + name, Setting: set}, is
}
