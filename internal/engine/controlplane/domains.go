package controlplane

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Placed has the facts about the failure domain of one machine.
type Placed struct {
	Name string
	// Domain is the failure domain of the machine, as a text; empty: unknown.
	Domain   string
	Created  time.Time
	Deleting bool
}

// Spread returns the failure domain of each index: of the indexes in the names of machines, and of the lowest others, as many as
// replicas require. Domains are the failure domains to use; their order and repetitions have no effect, and without any the result is nil.
//
// No failure domain has more indexes than the number of indexes divided by the number of failure domains, rounded up. Within this limit each index keeps the
// failure domain of its machine, so a new failure domain moves no machine that is not in excess. Failure domains in use are preferred to others.
func Spread(replicas int32, domains []string, machines []Placed) map[int32]string {
	if len(domains) == 0 {
		return nil
	}
	present, leaving := present(machines)
	s := spread{out: map[int32]string{}, used: map[string]int{}}
	inUse := map[string]bool{}
	for _, domain := range present {
		inUse[domain] = true
	}
	s.domains = slices.Compact(slices.Sorted(slices.Values(domains)))
	slices.SortStableFunc(s.domains, func(a, b string) int { return cmp.Compare(number(!inUse[a]), number(!inUse[b])) })
	indexes := lowest(present, replicas)
	s.most = (len(indexes) + len(s.domains) - 1) / len(s.domains)
	for _, stays := range []bool{true, false} {
		for _, index := range indexes {
			if domain, has := present[index]; has && leaving[index] != stays {
				s.keep(index, domain)
			}
		}
	}
	for _, index := range indexes {
		s.place(index)
	}
	return s.out
}

type spread struct {
	domains []string // the preferred first
	most    int      // indexes of one failure domain
	used    map[string]int
	out     map[int32]string
}

// keep lets an index keep the failure domain of its machine, if it may.
func (s *spread) keep(index int32, domain string) {
	if slices.Contains(s.domains, domain) && s.used[domain] < s.most {
		s.out[index] = domain
		s.used[domain]++
	}
}

// place gives an index that has no failure domain yet the least used one.
func (s *spread) place(index int32) {
	if _, has := s.out[index]; has {
		return
	}
	least := s.domains[0]
	for _, domain := range s.domains[1:] {
		if s.used[domain] < s.used[least] {
			least = domain
		}
	}
	s.out[index] = least
	s.used[least]++
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// present returns the failure domain of each index in the names of machines, where the newest machine of an index counts. leaving has the
// indexes whose machines are all under deletion.
func present(machines []Placed) (domains map[int32]string, leaving map[int32]bool) {
	newest := map[int32]Placed{}
	domains, leaving = map[int32]string{}, map[int32]bool{}
	for _, m := range machines {
		index, ok := Index(m.Name)
		if !ok {
			continue
		}
		last, has := newest[index]
		if !has || cmp.Or(m.Created.Compare(last.Created), cmp.Compare(m.Name, last.Name)) > 0 {
			newest[index], domains[index] = m, m.Domain
		}
		leaving[index] = m.Deleting && (!has || leaving[index])
	}
	return domains, leaving
}

// lowest returns the indexes of present in ascending order, with the lowest others until there are n.
func lowest[V any](present map[int32]V, n int32) []int32 {
	out := slices.Collect(maps.Keys(present))
	for index := int32(0); int32(len(out)) < n; index++ {
		if _, has := present[index]; !has {
			out = append(out, index)
		}
	}
	slices.Sort(out)
	return out
}

// Assign returns the index of each machine, by name: that of its name, and otherwise an index with the machine's failure domain. Of several such indexes the one
// with the fewest machines counts, then the lowest. Spread is the result of [Spread]; nil: there are no failure domains, and any index will do. Machines
// without any index are not in the result.
func Assign(replicas int32, machines []Placed, spread map[int32]string) map[string]int32 {
	out, count := map[string]int32{}, map[int32]int{}
	var nameless []Placed
	for _, m := range machines {
		if index, ok := Index(m.Name); ok {
			out[m.Name] = index
			count[index]++
		} else {
			nameless = append(nameless, m)
		}
	}
	slices.SortFunc(nameless, func(a, b Placed) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	candidates := lowest(count, replicas)
	if spread != nil {
		candidates = slices.Sorted(maps.Keys(spread))
	}
	for _, m := range nameless {
		best := int32(-1)
		for _, index := range candidates {
			if (spread == nil || spread[index] == m.Domain) && (best < 0 || count[index] < count[best]) {
				best = index
			}
		}
		if best >= 0 {
			out[m.Name] = best
			count[best]++
		}
	}
	return out
}
