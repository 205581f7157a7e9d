//go:build !linux

package hollow

import "errors"

var errPlatform = errors.New("hollow bodies need Linux")

func birth(int) (uint64, error) { return 0, errPlatform }

func find(string) (int, error) { return 0, errPlatform }
