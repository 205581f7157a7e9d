package apis

// Program is a program of an original. A Millwright program that is started under its name replaces it.
type Program struct {
	Name string
	// Provider: it needs an infrastructure.
	Provider bool
	// Metrics and Health are the addresses at which it serves them by default; empty: the port
	// of --port has both.
	Metrics, Health string
}

// ProgramOf returns the program of that name, among those that need an infrastructure or among the others,
// and its API; known is false if no original has it.
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
