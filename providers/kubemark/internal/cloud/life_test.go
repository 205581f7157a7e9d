package cloud

import (
	"strconv"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

const s = time.Second

var slow = Traits{Latencies: Latencies{CreateLatency: 10 * s, BootLatency: 5 * s, DeleteLatency: 20 * s}}

// TestBootSpread: boot times differ by instance, are the same each time, and stay within the bounds.
func TestBootSpread(t *testing.T) {
	times := map[time.Duration]bool{}
	var least, most time.Duration
	for i := range 200 {
		r := Record{ID: "i-" + strconv.Itoa(i), Traits: Traits{Latencies: Latencies{BootLatency: 60 * s, BootSpread: 20 * s}}}
		shift := r.bootShift()
		if shift != r.bootShift() || shift < -20*s || shift > 20*s {
			t.Fatalf("%s boots for %s longer", r.ID, shift)
		}
		times[shift], least, most = true, min(least, shift), max(most, shift)
	}
	if len(times) < 190 || least > -18*s || most < 18*s {
		t.Errorf("%d different times from %s to %s", len(times), least, most)
	}
}

var lives = []struct {
	reason string
	record Record
	now    int
	want   Want
	state  provider.State
	next   int // -1 for never
}{
	{
		"a new instance is pending until the create latency is over",
		Record{Traits: slow},
		9, Absent, provider.Pending, 10,
	},
	{
		"an instance runs before its body does",
		Record{Traits: slow},
		10, Absent, provider.Running, 15,
	},
	{
		"the body starts once it is booted",
		Record{Traits: slow},
		15, Up, provider.Running, -1,
	},
	{
		"nothing changes after that",
		Record{Traits: slow, Body: BodyStatus{Want: Up}},
		9999, Up, provider.Running, -1,
	},
	{
		"what never joins runs without a body",
		Record{Traits: Traits{NeverJoins: true}},
		100, Absent, provider.Running, -1,
	},
	{
		"the body lives on while the instance shuts down",
		Record{Traits: slow, Deleted: at(100), Body: BodyStatus{Want: Up}},
		119, Up, provider.Stopping, 120,
	},
	{
		"and goes with it",
		Record{Traits: slow, Deleted: at(100), Body: BodyStatus{Want: Up}},
		120, Removed, provider.Stopping, -1,
	},
	{
		"what is deleted while pending never runs",
		Record{Traits: slow, Deleted: at(3)},
		12, Absent, provider.Stopping, 23,
	},
	{
		"an instance dies in its time",
		Record{Traits: Traits{DiesAfter: 30 * s}, Body: BodyStatus{Want: Up}},
		30, Down, provider.Stopped, -1,
	},
	{
		"and is known to do so before",
		Record{Traits: Traits{DiesAfter: 30 * s}, Body: BodyStatus{Want: Up}},
		29, Up, provider.Running, 30,
	},
	{
		"power brings it back for as long again",
		Record{Traits: Traits{DiesAfter: 30 * s}, Power: PowerOn, PowerAt: at(50)},
		79, Up, provider.Running, 80,
	},
	{
		"an instance that is switched off stays so",
		Record{Power: PowerOff, PowerAt: at(5), Body: BodyStatus{Want: Up}},
		6, Down, provider.Stopped, -1,
	},
	{
		"a reboot ends the old body first",
		Record{Power: PowerReboot, PowerAt: at(5), Body: BodyStatus{Want: Up}},
		6, Down, provider.Running, -1,
	},
	{
		"after power on it boots again",
		Record{Traits: slow, Power: PowerOn, PowerAt: at(50)},
		54, Absent, provider.Running, 55,
	},
	{
		"an interruption is like a delete by somebody else",
		Record{Traits: Traits{InterruptAfter: 60 * s, Latencies: Latencies{DeleteLatency: 5 * s}}, Body: BodyStatus{Want: Up}},
		61, Up, provider.Stopping, 65,
	},
	{
		"an interruption is on the agenda",
		Record{Traits: Traits{InterruptAfter: 60 * s}},
		1, Up, provider.Running, 60,
	},
	{
		"a delete before the interruption counts",
		Record{Traits: Traits{InterruptAfter: 60 * s}, Deleted: at(10)},
		10, Removed, provider.Stopping, -1,
	},
	{
		"a mood that turns once",
		Record{Traits: Traits{Healthy: 30 * s}},
		30, Silent, provider.Running, -1,
	},
	{
		"a mood that will turn",
		Record{Traits: Traits{Healthy: 30 * s}},
		29, Up, provider.Running, 30,
	},
	{
		"a mood that turns and turns: silent from 70 s to 80 s",
		Record{Traits: Traits{Healthy: 30 * s, Silent: 10 * s}},
		79, Silent, provider.Running, 80,
	},
	{
		"and answering from 80 s to 110 s",
		Record{Traits: Traits{Healthy: 30 * s, Silent: 10 * s}},
		80, Up, provider.Running, 110,
	},
}

func TestLifeAt(t *testing.T) {
	for _, c := range lives {
		c.record.Created = start
		got := c.record.LifeAt(at(c.now))
		want := Life{Want: c.want, State: c.state}
		if c.next >= 0 {
			want.Next = at(c.next)
		}
		if got != want {
			t.Errorf("%s: at %d s got %+v, want %+v", c.reason, c.now, got, want)
		}
	}
}
