// Package mutants puts defects into the product's own decisions, one at a time, and reports who finds each: unit tests,
// properties or the simulator, and how soon.
//
// A mutant replaces a few words of one function. Many mutants are compiled into one program with `go build -overlay`, and an
// environment variable selects one of them. The tree is therefore never changed, and several mutants can be tried at the same
// time. Our own mutants are listed by room in list_*.go; [Generate] creates more, of standard kinds. For the results see
// docs/mutants.md.
//
// The mutants of internal/verify/sim wrap the controllers, and prove that a defect can break the simulator's statements. The
// mutants here are inside the product, and prove that tests cover its decisions.
package mutants

import (
	"path"
	"slices"
	"strings"
)

// Mutant is one deliberate defect.
type Mutant struct {
	// ID is the name of the room and of the defect: "lifecycle/hooks-overruled".
	ID string
	// File is the name of a file in the room's folder. Func is the top-level declaration in it that the mutant changes: Name, or
	// Receiver.Name for a method; the name of a variable, constant or type.
	File, Func string
	// From occurs exactly once in Func; To replaces it.
	From, To string
	// Statement is the number of the statement of ARCHITECTURE.md, "Safety", that the defect can break, from 1; 0: none.
	Statement int
	// Note says what the defect does to the product.
	Note string
	// Finds names a test that is known to find the mutant, and that is tried first; empty: none is known.
	Finds string
	// Like names a setting of internal/verify/sim whose worlds soon show the defect; empty: worlds are drawn without a setting. If
	// Statement is 0, the defect breaks a statement of the simulator that is not in ARCHITECTURE.md.
	Like string
	// Survives is the reason for which no unit test and no property can find the mutant; empty: one of them must find it.
	Survives string

	// at is the place of a generated mutant, whose From may occur more than once.
	at *span
}

// span is a range of bytes of a file.
type span struct{ from, to int }

// Generated reports whether [Generate] created the mutant.
func (m Mutant) Generated() bool { return m.at != nil }

// Hunted reports whether the simulator must find the mutant.
func (m Mutant) Hunted() bool { return m.Statement > 0 || m.Like != "" }

// Room is the first word of the ID.
func (m Mutant) Room() string {
	name, _, _ := strings.Cut(m.ID, "/")
	return name
}

// path is the path of the mutant's file, relative to the root of the repository.
func (m Mutant) path() string { return path.Join(roomOf(m.Room()).dir, m.File) }

// room is a folder of the product that has mutants.
type room struct {
	name string
	// dir is the folder, relative to the root of the repository. The tests in it are run first.
	dir string
	// tests are further folders whose tests cover the room's decisions.
	tests []string
}

const (
	machineShell = "internal/controller/machine"
	openshift    = "internal/dialect/openshift"
	gardener     = "internal/dialect/gardener"
)

// rooms are the packages of pure decisions, the lenses, the controllers, and the code around them.
var rooms = []room{
	{"lifecycle", "internal/engine/lifecycle", []string{machineShell, openshift, gardener}},
	{"inplace", "internal/engine/inplace", []string{"internal/engine/lifecycle", "internal/engine/rollout", gardener}},
	{"replicas", "internal/engine/replicas", []string{"internal/controller/machineset"}},
	{"rollout", "internal/engine/rollout", []string{"internal/controller/machinedeployment"}},
	{"health", "internal/engine/health", []string{"internal/controller/machinehealthcheck"}},
	{"drain", "internal/engine/drain", []string{"internal/runtime/node", machineShell}},
	{"orphan", "internal/engine/orphan", []string{"internal/controller/orphan"}},
	{"limits", "internal/engine/limits", []string{"internal/engine/replicas", "internal/engine/orphan", "internal/controller/machineset"}},
	{"controlplane", "internal/engine/controlplane", nil},
	{"failuredomain", "internal/dialect/failuredomain", nil},
	{"approval", "internal/engine/approval", []string{"internal/controller/csr"}},
	{"connectivity", "internal/engine/connectivity", []string{"internal/engine/lifecycle", "internal/engine/health", machineShell}},
	{"choice", "internal/engine/choice", []string{machineShell}},
	{"disruption", "internal/engine/disruption", []string{"internal/controller/disruption"}},
	{"ledger", "internal/controller/disruption", nil},
	{"interruption", "internal/engine/interruption", []string{"internal/runtime/termination"}},
	{"dialect", "internal/dialect", []string{openshift, gardener, machineShell}},
	{"openshift", openshift, []string{machineShell, "internal/controller/machineset"}},
	{"gardener", gardener, []string{machineShell, "internal/controller/machineset", "internal/controller/machinedeployment"}},
	{"machine", machineShell, nil},
	{"machineset", "internal/controller/machineset", nil},
	{"machinedeployment", "internal/controller/machinedeployment", nil},
	{"machinehealthcheck", "internal/controller/machinehealthcheck", nil},
	{"collector", "internal/controller/orphan", nil},
	{"csr", "internal/controller/csr", nil},
	{"capacity", "internal/controller/capacity", nil},
	{"machineclass", "internal/controller/machineclass", nil},
	{"enqueue", "internal/controller/enqueue", []string{machineShell}},
	{"node", "internal/runtime/node", []string{machineShell}},
	{"nodemeta", "internal/engine/nodemeta", []string{"internal/runtime/node", machineShell}},
	{"bootstrap", "internal/engine/bootstrap", []string{"internal/runtime/node", machineShell}},
	{"expectations", "internal/controller/expectations", []string{"internal/controller/machineset", "internal/controller/machinedeployment"}},
	{"readyourwrites", "internal/controller/readyourwrites", []string{"internal/controller/machineset", "internal/controller/machinedeployment"}},
	{"leading", "internal/runtime/leading", nil},
	{"run", "internal/runtime/run", nil},
	{"termination", "internal/runtime/termination", nil},
	{"provider", "provider", []string{"provider/decorate", machineShell}},
	{"decorate", "provider/decorate", nil},
	{"kit", "provider/kit", nil},
	{"admission", "internal/admission", nil},
	{"certs", "internal/admission/certs", nil},
}

// roomOf returns the room with the name; a room without a folder if it does not exist.
func roomOf(name string) room {
	if n := slices.IndexFunc(rooms, func(r room) bool { return r.name == name }); n >= 0 {
		return rooms[n]
	}
	return room{name: name}
}

// Rooms are the names of all rooms.
func Rooms() []string {
	var names []string
	for _, r := range rooms {
		names = append(names, r.name)
	}
	return names
}

// Own are the hand-written mutants.
func Own() []Mutant {
	return slices.Concat(
		lifecycleMutants, controlplaneMutants, replicasMutants, rolloutMutants, healthMutants, drainMutants, orphanMutants, decisionMutants,
		lensMutants, machineMutants, shellMutants, nodeMutants, sdkMutants, mendMutants, faultMutants, choiceMutants, inplaceMutants,
		admissionMutants, disruptionMutants,
	)
}
