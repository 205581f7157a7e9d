// Package gate decides which parts of the gate run: what has to pass before a change is merged. The program around it is hack/gate, the
// page about it docs/contributing/gates.md.
//
// Each part has inputs, and a key, which is a hash of their contents, of the toolchain and of the part's command. A part that passed with the same key on this
// machine would pass again. So what runs is what a change can touch, wherever the change comes from and in whatever folder the clone lies.
package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Policy says when a part runs.
type Policy int

const (
	// Always runs the part each time. Go's own cache of test results decides about each package, which sees what the package is compiled from and the
	// files of its module that its tests open.
	Always Policy = iota
	// Changed runs the part when its key has not passed.
	Changed
	// Turns runs members of the part: all whose own inputs have changed, and one of those that are touched by the shared inputs only.
	Turns
)

// A Lane says beside what a part runs.
type Lane int

const (
	// Alone is that of parts beside which nothing runs.
	Alone Lane = iota
	// Computing is that of parts that compute: they run beside those that wait, one after another, and leave the processors to these.
	Computing
	// Waiting is that of parts that wait for control planes, nodes and clouds most of the time.
	Waiting
)

// A Part is something that the gate proves.
type Part struct {
	Name   string
	Proves string
	Target string // of make
	Policy Policy
	Lane   Lane
	// Inputs are patterns of files: see Matches. They matter to Changed and Turns.
	Inputs []string
	// Leaves are folders that the part leaves for a later one; without them it runs.
	Leaves []string
	// Members are tested apart: clouds, or packages. Variable is that of make that names them; for a part that always runs, it names those whose own
	// inputs have changed.
	Members  []Member
	Variable string
}

// A Member of a part.
type Member struct {
	Name string
	Own  []string // patterns of files that nothing but this member depends on
}

// A Record is what is known of a part or a member, which is called "part/member", from earlier runs on this machine.
type Record struct {
	Own    string    `json:"own,omitempty"`  // the key of its own inputs when it last passed
	Full   string    `json:"full,omitempty"` // the key of all its inputs when it last passed
	Passed time.Time `json:"passed,omitzero"`
	Failed bool      `json:"failed,omitempty"` // it failed since
}

// Facts are what the decision rests on.
type Facts struct {
	Files     map[string]string // tracked files to the hashes of their contents
	Changed   []string          // files that the last commit changed, for members that no record knows
	Toolchain string
	Records   map[string]Record
	Missing   func(folder string) bool // whether a folder that a part leaves is not there
	All       bool                     // run everything
}

// A Verdict is what is to be done about a part.
type Verdict struct {
	Part    Part
	Run     bool
	Reason  string
	Members []string          // of Turns: those that run; of Always: those whose own inputs have changed
	Records map[string]Record // what holds once the part has passed, but for the time
}

// Arguments are those of make.
func (v Verdict) Arguments() []string {
	if v.Part.Variable == "" {
		return []string{v.Part.Target}
	}
	return []string{v.Part.Target, v.Part.Variable + "=" + strings.Join(v.Members, " ")}
}

// Decide returns a verdict for each part. Those that failed the last time come first.
func Decide(parts []Part, facts Facts) []Verdict {
	verdicts := make([]Verdict, 0, len(parts))
	for _, part := range parts {
		verdicts = append(verdicts, facts.judge(part))
	}
	slices.SortStableFunc(verdicts, func(a, b Verdict) int { return facts.rank(a.Part) - facts.rank(b.Part) })
	return verdicts
}

// Groups are verdicts that run one after another: each is one that runs alone, or several in a row of which those of the two lanes run beside each
// other.
func Groups(verdicts []Verdict) (groups [][]Verdict) {
	for n, v := range verdicts {
		if n > 0 && v.Part.Lane != Alone && verdicts[n-1].Part.Lane != Alone {
			groups[len(groups)-1] = append(groups[len(groups)-1], v)
		} else {
			groups = append(groups, []Verdict{v})
		}
	}
	return groups
}

// rank is lower for a part that failed the last time.
func (f Facts) rank(part Part) int {
	if f.Records[part.Name].Failed {
		return 0
	}
	return 1
}

func (f Facts) judge(part Part) Verdict {
	full := f.key(part, part.Inputs)
	v := Verdict{Part: part, Records: map[string]Record{part.Name: {Full: full}}}
	switch part.Policy {
	case Always:
		v.Run, v.Reason = true, "always"
		f.fresh(&v)
	case Changed:
		f.changed(&v, full)
	case Turns:
		f.turns(&v, full)
	}
	return v
}

func (f Facts) changed(v *Verdict, full string) {
	record := f.Records[v.Part.Name]
	missing := slices.ContainsFunc(v.Part.Leaves, f.Missing)
	switch {
	case f.All:
		v.Run, v.Reason = true, "all was asked for"
	case record.Failed:
		v.Run, v.Reason = true, "it failed the last time"
	case record.Full == "":
		v.Run, v.Reason = true, "it has not passed on this machine"
	case record.Full != full:
		v.Run, v.Reason = true, "its inputs have changed"
	case missing:
		v.Run, v.Reason = true, "what it leaves for others is not there"
	default:
		v.Reason = "unchanged since it passed on " + record.Passed.UTC().Format("2006-01-02 15:04")
	}
}

// fresh names the members whose own inputs are not those that passed: their tests open files that Go's cache does not see.
func (f Facts) fresh(v *Verdict) {
	for _, member := range v.Part.Members {
		name, own := v.Part.Name+"/"+member.Name, f.key(v.Part, member.Own)
		if f.All || f.Records[name].Own != own {
			v.Members = append(v.Members, member.Name)
		}
		v.Records[name] = Record{Own: own}
	}
}

// turns chooses members.
func (f Facts) turns(v *Verdict, shared string) {
	var open []string
	reasons := map[string]int{}
	for _, member := range v.Part.Members {
		name := v.Part.Name + "/" + member.Name
		own := f.key(v.Part, member.Own)
		next := Record{Own: own, Full: own + shared}
		record := f.Records[name]
		v.Records[name] = next
		switch {
		case f.All:
			reasons["asked for"]++
		case record.Failed:
			reasons["failed the last time"]++
		case record.Full == next.Full:
			continue
		case f.touched(member, record, own):
			reasons["changed"]++
		default:
			open = append(open, member.Name)
			continue
		}
		v.Members = append(v.Members, member.Name)
	}
	if len(open) > 0 {
		v.Members = append(v.Members, f.next(v.Part.Name, open))
		reasons["in turn"]++
	}
	for _, member := range v.Part.Members {
		if !slices.Contains(v.Members, member.Name) {
			delete(v.Records, v.Part.Name+"/"+member.Name)
		}
	}
	v.Run = len(v.Members) > 0
	v.Reason = "unchanged since all members passed"
	if v.Run {
		v.Reason = fmt.Sprintf("%d of %d: %s", len(v.Members), len(v.Part.Members), count(reasons))
	}
}

// touched tells whether a member has to run for its own sake. Where it has never run, the last commit says so: on a new machine not all members can be tried.
func (f Facts) touched(member Member, record Record, own string) bool {
	if record.Own != "" {
		return record.Own != own
	}
	return slices.ContainsFunc(f.Changed, func(file string) bool { return Matches(member.Own, file) })
}

// next is the member that has not passed for the longest time; of those that never have, the contents of the tree choose.
func (f Facts) next(part string, open []string) string {
	tree := f.key(Part{}, []string{"**"})
	return slices.MinFunc(open, func(a, b string) int {
		if n := f.Records[part+"/"+a].Passed.Compare(f.Records[part+"/"+b].Passed); n != 0 {
			return n
		}
		return strings.Compare(hash(tree, a), hash(tree, b))
	})
}

func count(reasons map[string]int) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		parts = append(parts, fmt.Sprintf("%d %s", reasons[reason], reason))
	}
	return strings.Join(parts, ", ")
}

// key is a hash of the files that patterns match, of the toolchain and of the part's command.
func (f Facts) key(part Part, patterns []string) string {
	sum := sha256.New()
	fmt.Fprintln(sum, f.Toolchain, part.Target, part.Variable)
	for _, file := range slices.Sorted(maps.Keys(f.Files)) {
		if Matches(patterns, file) {
			fmt.Fprintln(sum, file, f.Files[file])
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

func hash(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:])
}

// Matches tells whether patterns match a file. The last pattern that fits decides: "dir/" is all in a folder, "*.md" all files that end so, "**" everything,
// anything else one file; "!" before a pattern takes out.
func Matches(patterns []string, file string) bool {
	matched := false
	for _, pattern := range patterns {
		pattern, out := strings.CutPrefix(pattern, "!")
		if fits(pattern, file) {
			matched = !out
		}
	}
	return matched
}

func fits(pattern, file string) bool {
	switch {
	case pattern == "**":
		return true
	case strings.HasSuffix(pattern, "/"):
		return strings.HasPrefix(file, pattern)
	case strings.HasPrefix(pattern, "*"):
		return strings.HasSuffix(file, pattern[1:])
	}
	return file == pattern
}

// Passed returns the records after a part has passed.
func Passed(records map[string]Record, v Verdict, now time.Time) map[string]Record {
	next := maps.Clone(records)
	for name, record := range v.Records {
		record.Passed = now
		next[name] = record
	}
	return next
}

// Failed returns the records after a part has failed: it comes first the next time.
func Failed(records map[string]Record, v Verdict) map[string]Record {
	next := maps.Clone(records)
	record := next[v.Part.Name]
	record.Failed = true
	next[v.Part.Name] = record
	if v.Part.Policy == Turns {
		for _, member := range v.Members {
			name := v.Part.Name + "/" + member
			record := next[name]
			record.Failed = true
			next[name] = record
		}
	}
	return next
}
