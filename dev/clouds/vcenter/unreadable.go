package vcenter

import (
	"regexp"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// unreadable hides configurations that the vCenter cannot read.
type unreadable struct {
	mu  sync.Mutex
	off map[string]bool // virtual machines
}

func (v *unreadable) set(vm types.ManagedObjectReference, unreadable bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.off == nil {
		v.off = map[string]bool{}
	}
	v.off[vm.Value] = unreadable
}

// A virtual machine in a property collector's answer, and the properties of its configuration.
var (
	saidOfMachine = regexp.MustCompile(`(?s)<obj type="VirtualMachine">([^<]*)</obj>.*?(?:</objects>|</returnval>)`)
	saidOfConfig  = regexp.MustCompile(`(?s)<propSet><name>config[.<[].*?</propSet>`)
)

// over removes unreadable configurations from an answer, which then lacks them without an error.
func (v *unreadable) over(answer []byte) []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.off) == 0 {
		return answer
	}
	return saidOfMachine.ReplaceAllFunc(answer, func(said []byte) []byte {
		if !v.off[string(saidOfMachine.FindSubmatch(said)[1])] {
			return said
		}
		return saidOfConfig.ReplaceAll(said, nil)
	})
}
