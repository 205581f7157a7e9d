package modules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Wish is a module that is to have a version. A path that ends in "*" stands for all modules that begin so, have releases, and are of the same major
// version as the wish: k8s.io/*@v0.37.2 is k8s.io/api and its like, and neither k8s.io/klog/v2 v2.140.0 nor k8s.io/utils, which has none.
type Wish struct {
	Path    string
	Version string
}

// ParseWish reads "module@version".
func ParseWish(text string) (Wish, error) {
	path, version, found := strings.Cut(text, "@")
	if !found || path == "" || !release.MatchString(version) {
		return Wish{}, fmt.Errorf("%q is not of the form module@v1.2.3", text)
	}
	return Wish{Path: path, Version: version}, nil
}

func (w Wish) means(module, version string) bool {
	prefix, many := strings.CutSuffix(w.Path, "*")
	if !many {
		return module == w.Path
	}
	return strings.HasPrefix(module, prefix) && !Pseudo(version) && Major(version) == Major(w.Version)
}

// A Change is a version that a folder's go.mod is given.
type Change struct {
	Dir      string
	Module   string
	Version  string
	Replaced bool // a replace directive has the version
}

// Flag is the argument of "go mod edit" that makes the change.
func (c Change) Flag() string {
	if c.Replaced {
		return "-replace=" + c.Module + "=" + c.Module + "@" + c.Version
	}
	return "-require=" + c.Module + "@" + c.Version
}

func (m *Module) change(required, version string) Change {
	return Change{Dir: m.Dir, Module: required, Version: version, Replaced: m.Replaced[required] != ""}
}

// Bump lists what wishes change, by folder and module. A folder with an exception for a module keeps its version, unless the folder is named in only.
// An error says that no folder requires what a wish names.
func Bump(all []Module, list []Apart, wishes []Wish, only []string) ([]Change, error) {
	var changes []Change
	for _, wish := range wishes {
		met := false
		for _, module := range all {
			if len(only) > 0 && !slices.Contains(only, module.Dir) {
				continue
			}
			for _, required := range slices.Sorted(maps.Keys(module.Requires)) {
				version := module.Version(required)
				if version == "" || !wish.means(required, version) || len(only) == 0 && Excepted(list, module.Dir, required) {
					continue
				}
				met = true
				if version != wish.Version {
					changes = append(changes, module.change(required, wish.Version))
				}
			}
		}
		if !met {
			return nil, fmt.Errorf("no go.mod file requires %s, or all that do stand in apart.txt", wish.Path)
		}
	}
	return changes, nil
}

// Align lists what makes modules agree: each that is lower than in another folder is raised.
func Align(all []Module, list []Apart) []Change {
	var changes []Change
	for _, disagreement := range Disagreements(all, list) {
		highest := slices.MaxFunc(slices.Collect(maps.Keys(disagreement.Versions)), Compare)
		for _, version := range slices.SortedFunc(maps.Keys(disagreement.Versions), Compare) {
			if version == highest {
				continue
			}
			for _, module := range all {
				if slices.Contains(disagreement.Versions[version], module.Dir) {
					changes = append(changes, module.change(disagreement.Module, highest))
				}
			}
		}
	}
	return changes
}
