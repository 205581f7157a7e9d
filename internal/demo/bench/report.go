package bench

import (
	"fmt"
	"io"
	"math"
)

// Report has the measured results.
type Report struct {
	// Runs are the phases, once for each round.
	Runs []Measured `json:"runs"`
	// Before is an earlier report to compare with; nil for none.
	Before *Report `json:"-"`
	// Blocked are the costs of blocked drains for other machines, if they were measured.
	Blocked []Blocked `json:"blocked,omitempty"`
	// Heartbeats are the costs of heartbeats of nodes, if they were measured.
	Heartbeats []Heartbeats `json:"heartbeats,omitempty"`
	// Clouds are the requests to simulated clouds, if they were measured.
	Clouds []CloudCalls `json:"clouds,omitempty"`
	// WritesAtRest are the controllers' writes, without leases, in the minute with
	// the most writes of all minutes in which all machines ran and there was nothing
	// to do.
	WritesAtRest int `json:"writesAtRest"`
	// Decisions are how long decisions about thousands of machines take.
	Decisions []Decision `json:"decisions,omitempty"`
}

// Subject is what a run measures.
type Subject struct {
	API string `json:"api"`
	// Phase is one of:
	// "create", from no machine until all are Running with Ready nodes;
	// "delete", from there until no machine and no node is left;
	// "dead", from the death of some nodes until the same number of other machines runs;
	// "roll", from a change of the template until all machines are replaced and the
	// deployment reports it. Figures per machine are then per replaced machine.
	Phase    string `json:"phase"`
	Machines int    `json:"machines"`
	// Sets is the number of sets or deployments over which they are spread; 0 for one.
	Sets int `json:"sets,omitempty"`
	// BootTime is how long instances boot, as in "1m0s"; empty for no time.
	BootTime string `json:"bootTime,omitempty"`
	// Distance is how long a request to the API server and its answer are under way, as in "100ms"; empty for no time.
	Distance string `json:"distance,omitempty"`
}

// Measured is one phase of one API with one number of machines.
type Measured struct {
	Subject
	Latencies
	// Program is the version of the programs.
	Program string  `json:"program,omitempty"`
	Seconds float64 `json:"seconds"`
	// CeilingSeconds is how long the raw client took. Ratio is how many times as long
	// the controllers took.
	CeilingSeconds float64 `json:"ceilingSeconds"`
	Ratio          float64 `json:"ratio"`
	// WritesPerMachine are the controllers' successful API writes by verb and
	// resource, without leases, events, token secrets and the Nodes that simulate
	// instances.
	WritesPerMachine map[string]float64 `json:"writesPerMachine"`
	// CPUSeconds and PeakRSSBytes are for both controller programs together.
	CPUSeconds   float64 `json:"cpuSeconds"`
	PeakRSSBytes int64   `json:"peakRSSBytes"`

	// JoiningCeilingSeconds is the time of a raw client that also creates the Nodes,
	// which join while it writes. For created machines it is the mean of JoiningTurns,
	// one before the controllers' turn and one after it. JoiningRatio is how many times
	// as long the controllers took, and is the ratio that counts for created machines:
	// joining nodes take CPU from every process, whichever client writes the machine.
	// It is no lower bound: a client that keeps 32 writes in flight may overload an API
	// server more than the controllers do.
	JoiningCeilingSeconds float64   `json:"joiningCeilingSeconds,omitempty"`
	JoiningTurns          []float64 `json:"joiningTurns,omitempty"`
	JoiningRatio          float64   `json:"joiningRatio,omitempty"`
	// OtherWritesPerMachine are the writes that are not in WritesPerMachine, and, with
	// the code of the answer, refused writes.
	OtherWritesPerMachine map[string]float64 `json:"otherWritesPerMachine,omitempty"`
	// BytesPerMachine is the difference between the peak and the memory in use at the
	// beginning of the phase, garbage included.
	BytesPerMachine int64 `json:"bytesPerMachine"`
	// Alone is the latency of a deletion while nothing else is in progress, measured
	// after the others.
	Alone *Alone `json:"alone,omitempty"`
	// Roll has further results of a rolling update.
	Roll *Rolled `json:"roll,omitempty"`
	// Dead has further results for nodes that died at the same time.
	Dead *Dead `json:"dead,omitempty"`
	// Rest is what the controllers do while there is nothing to do, if that was measured.
	Rest *Rest `json:"rest,omitempty"`
}

// Latencies are latencies of the machines of a phase; nil if it has none.
type Latencies struct {
	// AddedLatency is the time from the write of a machine to the creation call to the
	// infrastructure, or from the request to delete the machine until it did not
	// exist.
	AddedLatency *Latency `json:"addedLatency"`
	// CloudLatency is the time from the request for machines to their creation calls to the infrastructure. CloudCeiling is the same time of the raw
	// client whose nodes join: the mean of its turns. Instances that boot at once would hide this latency; real ones boot for a minute or more.
	CloudLatency *Latency `json:"cloudLatency,omitempty"`
	CloudCeiling *Latency `json:"cloudCeiling,omitempty"`
	// RunningLatency is the time from the moment at which a node was Ready until its machine
	// was written as Running.
	RunningLatency *Latency `json:"runningLatency,omitempty"`
}

// Rolled has further results of a rolling update.
type Rolled struct {
	// Most is the largest number of machines at a time, including those in deletion, Least
	// the smallest number of available machines.
	Most  int `json:"most"`
	Least int `json:"least"`
	// Excess is by how many machines one of several deployments exceeded its maximum, Missing by how many available machines one fell short of its
	// minimum.
	Excess  int `json:"excess"`
	Missing int `json:"missing"`
	// MostAllowed is replicas plus surge, LeastAllowed replicas minus those that may be
	// unavailable.
	MostAllowed  int `json:"mostAllowed"`
	LeastAllowed int `json:"leastAllowed"`
	// ToldSeconds is the time from the end of the last machine's replacement until the
	// deployment reported it.
	ToldSeconds float64 `json:"toldSeconds"`
}

// Latency has quantiles in seconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// add adds a phase and prints it at once for a user who waits.
func (r *Report) add(m Measured, log io.Writer) {
	r.Runs = append(r.Runs, m)
	ratio, ceiling := m.counts()
	fmt.Fprintf(log, "%s, %d machines: %s took %.2f s, %.2f times %s\n", m.API, m.Machines, m.Phase, m.Seconds, ratio, ceiling)
}

// counts is the ratio that counts, and the name of its ceiling.
func (m *Measured) counts() (ratio float64, ceiling string) {
	if m.Phase == create {
		return m.JoiningRatio, "the raw ceiling with nodes joining"
	}
	return m.Ratio, "the raw ceiling"
}

// compare computes how many times as long as the raw client the controllers took.
func (m *Measured) compare() {
	m.Ratio = m.Seconds / m.CeilingSeconds
	if m.JoiningCeilingSeconds > 0 {
		m.JoiningRatio = m.Seconds / m.JoiningCeilingSeconds
	}
}

// joined adds another turn of the raw client whose nodes join.
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

// round drops insignificant digits.
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

// rounded keeps thousandths. The added 0 turns -0 into 0.
func rounded(f float64) float64 { return math.Round(f*1000)/1000 + 0 }

// micro keeps microseconds.
func micro(f float64) float64 { return math.Round(f*1e6) / 1e6 }
