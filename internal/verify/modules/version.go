package modules

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

var release = regexp.MustCompile(`^v(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+incompatible)?$`)

// Compare orders versions as Go modules do: by numbers, and what comes before a release (v1.2.0-rc.1, v0.0.0-20260101000000-abcdef123456)
// is lower than it. What is no version is lowest.
func Compare(a, b string) int {
	x, y := release.FindStringSubmatch(a), release.FindStringSubmatch(b)
	if x == nil || y == nil {
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
	}
	for i := 1; i <= 3; i++ {
		if n := compareNumbers(x[i], y[i]); n != 0 {
			return n
		}
	}
	switch {
	case x[4] == y[4]:
		return 0
	case x[4] == "":
		return 1
	case y[4] == "":
		return -1
	}
	return comparePrereleases(strings.Split(x[4], "."), strings.Split(y[4], "."))
}

func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// comparePrereleases compares as semver.org says: number by number, numbers below words, fewer below more.
func comparePrereleases(a, b []string) int {
	for i := range min(len(a), len(b)) {
		_, x := strconv.ParseUint(a[i], 10, 64)
		_, y := strconv.ParseUint(b[i], 10, 64)
		switch {
		case a[i] == b[i]:
			continue
		case x == nil && y == nil:
			return compareNumbers(a[i], b[i])
		case x == nil:
			return -1
		case y == nil:
			return 1
		}
		return strings.Compare(a[i], b[i])
	}
	return cmp.Compare(len(a), len(b))
}

var pseudo = regexp.MustCompile(`[-.]\d{14}-[0-9a-f]{12}$`)

// Pseudo tells whether a version names a commit instead of a release.
func Pseudo(version string) bool {
	return pseudo.MatchString(strings.TrimSuffix(version, "+incompatible"))
}

// Major is "v0" of v0.36.3, and "" of what is no version.
func Major(version string) string {
	if !release.MatchString(version) {
		return ""
	}
	major, _, _ := strings.Cut(version, ".")
	return major
}
