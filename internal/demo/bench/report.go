package bench

import (
	"fmt"
	"io"
	"math"
)

// Report is what was measured.
type Report struct {
	// Runs are the phases, once for each round.
	Runs []Measured `json:"runs"`
	// Before is an earlier report to compare with; nil for none.
	Before *Report `json:"-"`
	// Blocked are what blocked drains cost others, where that was measured.
	Blocked []Blocked `json:"blocked,omitempty"`
	// Heartbeats are what heartbeats of nodes cost, where that was measured.
	Heartbeats []Heartbeats `json:"heartbeats,omitempty"`
	// Clouds are the requests to simulated clouds, where they were measured.
	Clouds []CloudCalls `json:"clouds,omitempty"`
	// WritesAtRest are the controllers' writes within the minute in which they
	// wrote most of those in which all machines ran and nothing was to be
	// done; leases aside.
	WritesAtRest int `json:"writesAtRest"`
	// Decisions are how long deciding about thousands of machines takes.
	Decisions []Decision `json:"decisions,omitempty"`
}

// Subject is what is measured.
type Subject struct {
	API string `json:"api"`
	// Phase is "create", from no machine until all are Running with Ready
	// nodes, "delete", from there until no machine and no node is left, or
	// "dead", from the death of some nodes until as many other machines run, or
	// "roll", from a change of the template until all machines are replaced
	// and the deployment says so. Figures per machine are then per machine
	// replaced.
	Phase    string `json:"phase"`
	Machines int    `json:"machines"`
	// Sets are over how many sets, or deployments, they are spread; 0 for one.
	Sets int `json:"sets,omitempty"`
	// BootTime is for how long instances boot, as in "1m0s"; empty for not at all.
	BootTime string `json:"bootTime,omitempty"`
	// Distance is how long a request and its answer are under way to the API server, as in "100ms"; empty for no time.
	Distance string `json:"distance,omitempty"`
}

// Measured is one phase of one API with one number of machines.
type Measured struct {
	Subject
	Latencies
	// Program is the version of the programs.
	Program string  `json:"program,omitempty"`
	Seconds float64 `json:"seconds"`
	// CeilingSeconds is how long the raw client took, Ratio how many times as
	// long the controllers did.
	CeilingSeconds float64 `json:"ceilingSeconds"`
	Ratio          float64 `json:"ratio"`
	// WritesPerMachine are the controllers' successful API writes by verb and
	// resource, without leases, events, token secrets and the Node that stands
	// for an instance.
	WritesPerMachine map[string]float64 `json:"writesPerMachine"`
	// CPUSeconds and PeakRSSBytes are those of both controller programs.
	CPUSeconds   float64 `json:"cpuSeconds"`
	PeakRSSBytes int64   `json:"peakRSSBytes"`

	// JoiningCeilingSeconds is the time of a raw client that makes the Nodes,
	// too, which then join while it writes: for machines that are created, the
	// mean of JoiningTurns, one before the controllers' turn and one after it.
	// JoiningRatio is how many times as long the controllers took. It is what
	// counts for machines that are created: a node's joining takes the cores
	// from every process, whichever client writes the machine. It is no floor: a client
	// that keeps 32 writes under way may overrun an API server more than the
	// controllers do.
	JoiningCeilingSeconds float64   `json:"joiningCeilingSeconds,omitempty"`
	JoiningTurns          []float64 `json:"joiningTurns,omitempty"`
	JoiningRatio          float64   `json:"joiningRatio,omitempty"`
	// OtherWritesPerMachine are the writes that WritesPerMachine leaves out,
	// and, with the code of the answer, those that were refused.
	OtherWritesPerMachine map[string]float64 `json:"otherWritesPerMachine,omitempty"`
	// BytesPerMachine is by how much the peak exceeds what was in use when the
	// phase began, garbage included.
	BytesPerMachine int64 `json:"bytesPerMachine"`
	// Alone is what a deletion takes that nothing else is in the way of, measured
	// after the others.
	Alone *Alone `json:"alone,omitempty"`
	// Roll is what else is known of a rolling update.
	Roll *Rolled `json:"roll,omitempty"`
	// Dead is what else is known of nodes that died at once.
	Dead *Dead `json:"dead,omitempty"`
	// Rest is what the controllers do while nothing is to be done, where that was measured.
	Rest *Rest `json:"rest,omitempty"`
}

// Latencies are those of the machines of a phase; nil if it has none.
type Latencies struct {
	// AddedLatency is that from a machine's being written until the
	// infrastructure was asked for its instance, or from the request to delete
	// it until it did not exist.
	AddedLatency *Latency `json:"addedLatency"`
	// CloudLatency is that from the request for machines until the infrastructure was asked for their instances, CloudCeiling that of the raw
	// client whose nodes join: the mean of its turns. An instance boots for a minute or more, which zero latency hides.
	CloudLatency *Latency `json:"cloudLatency,omitempty"`
	CloudCeiling *Latency `json:"cloudCeiling,omitempty"`
	// RunningLatency is that from a node's being Ready until its machine was
	// written to be Running.
	RunningLatency *Latency `json:"runningLatency,omitempty"`
}

// Rolled is what else is known of a rolling update.
type Rolled struct {
	// Most are the most machines there ever were, those on their way out
	// included, Least the fewest that were available.
	Most  int `json:"most"`
	Least int `json:"least"`
	// Excess is by how many one of several deployments had more than it may have at most, Missing by how many fewer of its machines were
	// available than have to be.
	Excess  int `json:"excess"`
	Missing int `json:"missing"`
	// MostAllowed is replicas and surge, LeastAllowed replicas without those
	// that may be unavailable.
	MostAllowed  int `json:"mostAllowed"`
	LeastAllowed int `json:"leastAllowed"`
	// ToldSeconds is how long after the last machine was done the deployment
	// said so.
	ToldSeconds float64 `json:"toldSeconds"`
}

// Latency is in seconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// add takes a phase in, and tells it at once to a person who waits.
func (r *Report) add(m Measured, log io.Writer) {
	r.Runs = append(r.Runs, m)
	ratio, ceiling := m.counts()
	fmt.Fprintf(log, "%s, %d machines: %s took %.2f s, %.2f times %s\n", m.API, m.Machines, m.Phase, m.Seconds, ratio, ceiling)
}

// counts is the ratio that counts, and to what it is.
func (m *Measured) counts() (ratio float64, ceiling string) {
	if m.Phase == create {
		return m.JoiningRatio, "the raw ceiling with nodes joining"
	}
	return m.Ratio, "the raw ceiling"
}

// compare fills in how many times as long as the raw client the controllers took.
func (m *Measured) compare() {
	m.Ratio = m.Seconds / m.CeilingSeconds
	if m.JoiningCeilingSeconds > 0 {
		m.JoiningRatio = m.Seconds / m.JoiningCeilingSeconds
	}
}

// joined takes in a further turn of the raw client whose nodes join.
func (m *Measured) joined(turn ceilings) {
	m.JoiningTurns = append(m.JoiningTurns, turn.create.Seconds())
	turns := float64(len(m.JoiningTurns))
	mean := func(mean *float64, next float64) { *mean += (next - *mean) / turns }
	mean(&m.JoiningCeilingSeconds, turn.create.Seconds())
	if turn.cloud != nil {
		if m.CloudCeiling == nil {
			m.CloudCeiling = &Latency{}
		}
		mean(&m.CloudCeiling.P50, turn.cloud.P50)
		mean(&m.CloudCeiling.P99, turn.cloud.P99)
	}
}

// round drops digits that mean nothing.
func (m *Measured) round() {
	for _, f := range []*float64{&m.Seconds, &m.CeilingSeconds, &m.JoiningCeilingSeconds, &m.Ratio, &m.JoiningRatio, &m.CPUSeconds} {
		*f = rounded(*f)
	}
	for i := range m.JoiningTurns {
		m.JoiningTurns[i] = rounded(m.JoiningTurns[i])
	}
	for _, l := range []*Latency{m.AddedLatency, m.RunningLatency, m.CloudLatency, m.CloudCeiling} {
		if l != nil {
			l.P50, l.P99 = rounded(l.P50), rounded(l.P99)
		}
	}
	if a := m.Alone; a != nil {
		a.Latency = Latency{P50: rounded(a.Latency.P50), P99: rounded(a.Latency.P99)}
		a.Ceiling = Latency{P50: rounded(a.Ceiling.P50), P99: rounded(a.Ceiling.P99)}
	}
	if m.Roll != nil {
		m.Roll.ToldSeconds = rounded(m.Roll.ToldSeconds)
	}
	for _, writes := range []map[string]float64{m.WritesPerMachine, m.OtherWritesPerMachine} {
		for k, v := range writes {
			writes[k] = rounded(v)
		}
	}
}

// rounded keeps thousandths; what is added makes a zero of one below zero.
func rounded(f float64) float64 { return math.Round(f*1000)/1000 + 0 }

// micro keeps microseconds.
func micro(f float64) float64 { return math.Round(f*1e6) / 1e6 }
