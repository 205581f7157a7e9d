package apis

// Program is a program of an original whose place one of ours takes when it has its name.
type Program struct {
	Name string
	// Provider: it needs an infrastructure.
	Provider bool
	// Metrics and Health are the addresses at which it serves them by default; empty: the port
	// of --port has both.
	Metrics, Health string
}

// ProgramOf is the program of that name, among those that need an infrastructure or those
// that need none, and the API that it is of; not known where no original has it.
func ProgramOf(name string, needsProvider bool) (p Program, api string, known bool) {
	for _, a := range All {
		for _, p := range a.programs {
			if p.Name == name && p.Provider == needsProvider {
				return p, a.Name, true
			}
		}
	}
	return Program{}, "", false
}
