package arm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// sizeForm splits the name of a size: the letters of its family, its vCPUs, and its features:
// Standard_E8ads_v5.
var sizeForm = regexp.MustCompile(`^[A-Za-z]+_([A-Za-z]+)(\d+)(?:-\d+)?([a-z]*)`)

// gibOf is the memory per vCPU in GiB, for families in which it is not 4.
var gibOf = map[string]float64{"E": 8, "F": 2, "M": 16}

// anySize is a size that is known by name only.
func anySize(name string) Size {
	s := Size{Name: name, Family: "standardFamily", VCPUs: 2, Zones: []string{"1", "2", "3"}}
	each := 4.0
	if m := sizeForm.FindStringSubmatch(name); m != nil {
		s.Family = "standard" + strings.ToUpper(m[1]+m[3]) + "Family"
		if n, err := strconv.ParseInt(m[2], 10, 64); err == nil && n > 0 {
			s.VCPUs = n
		}
		if strings.Contains(m[3], "p") {
			s.Architecture = "Arm64"
		}
		if gib, other := gibOf[strings.ToUpper(m[1])]; other {
			each = gib
		}
	}
	s.MemoryGB = each * float64(s.VCPUs)
	return s
}

// sizeNamed is a size of the inventory or, if anything is accepted, of any name.
func (c *Cloud) sizeNamed(name string) (Size, bool) {
	s, ok := c.Inventory.size(name)
	if !ok && c.AcceptAny && name != "" {
		return anySize(name), true
	}
	return s, ok
}

// locations are the locations of the inventory and, if anything is accepted, the named location.
func (c catalogCalls) locations(named string) []Location {
	if _, ok := c.Inventory.location(named); ok || !c.AcceptAny || named == "" {
		return c.Inventory.Locations
	}
	return []Location{{Name: named, Zones: []string{"1", "2", "3"}}}
}

// sizes are the sizes of the inventory and, if anything is accepted, common sizes: the request names no size, and a list cannot
// contain all names.
func (c catalogCalls) sizes() []Size {
	all := c.Inventory.Sizes
	if !c.AcceptAny {
		return all
	}
	known := map[string]bool{}
	for _, s := range all {
		known[strings.ToLower(s.Name)] = true
	}
	all = append([]Size{}, all...)
	for _, family := range []string{"B", "D", "E", "F", "L"} {
		for _, cores := range []int{2, 4, 8, 16, 32, 48, 64, 96} {
			for _, kind := range []string{"", "s", "as", "ds", "ads", "ps", "pds", "ls"} {
				for version := 2; version <= 6; version++ {
					if name := fmt.Sprintf("Standard_%s%d%s_v%d", family, cores, kind, version); !known[strings.ToLower(name)] {
						all = append(all, anySize(name))
					}
				}
			}
		}
	}
	return all
}
