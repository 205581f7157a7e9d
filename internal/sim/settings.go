package sim

import (
	"time"

	"github.com/millwright-dev/millwright/internal/rollout"
)

// settings are worlds in which a defect of the product shows soon that worlds as they come show seldom, by the names that
// internal/mutants has for them. The product keeps its promises in them as in all others.
var settings = map[string]func(*character){
	// A process is overtaken in the middle of a creation by another one, whose machines go.
	"succession": func(c *character) {
		quiet(c)
		c.pausePercent, c.usurps, c.trouble = 40, true, 20
	},
	// What was asked for under a spec got no reply, and the spec is refused from then on.
	"refused specs": func(c *character) {
		quiet(c)
		c.edits, c.usurps, c.cloud.Demanding, c.trouble, c.percent[cloudLost] = true, true, true, 20, 60
	},
	"refused elder": func(c *character) {
		quiet(c)
		c.edits, c.versions, c.cloud.Demanding, c.trouble, c.percent[cloudLost] = true, true, true, 20, 60
	},
	"namesakes": func(c *character) {
		quiet(c)
		c.neighbours, c.cloud.ByName, c.trouble = true, true, 20
	},
	"dimmed":  dimmed,
	"sickbay": sickbay,
	"rolls":   rollsOnly(rollout.Rolling),
	"hasty":   hasty(rollout.Rolling),
	"busy": func(c *character) {
		c.wider, c.deployments, c.busy = wider{}, 1, 10
	},
	"in place": rollsOnly(rollout.InPlace),
	"blind": func(c *character) {
		quiet(c)
		c.outages, c.apart, c.trouble, c.sets, c.percent[nodeStalls] = true, true, 20, 2, 50
	},
	"blind2": func(c *character) {
		quiet(c)
		c.outages, c.trouble, c.sets, c.percent[nodeStalls] = true, 10, 2, 100
	},
	"lost deletions": func(c *character) {
		quiet(c)
		c.sets, c.singles, c.viewLag, c.percent[apiLost], c.percent[apiLate] = 3, 0, 30*time.Second, 40, 30
	},
}

// quiet makes a world in which nothing goes wrong by itself, and nobody but machines is there.
func quiet(c *character) {
	*c = character{cloud: c.cloud, viewLag: c.viewLag, pausePercent: c.pausePercent, singles: 4}
	c.cloud.Lag = 0
}

// Setting is a mutation that changes nothing but the world; false: there is none of the name.
func Setting(name string) (*Mutation, bool) {
	set, is := settings[name]
	return &Mutation{Name: "only " + name, Setting: set}, is
}
