package vcenter

import (
	"regexp"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// veil hides configurations that cannot be read.
type veil struct {
	mu  sync.Mutex
	off map[string]bool // virtual machines
}

func (v *veil) set(vm types.ManagedObjectReference, unreadable bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.off == nil {
		v.off = map[string]bool{}
	}
	v.off[vm.Value] = unreadable
}

// What a property collector says of a virtual machine, and what of that is its configuration.
var (
	saidOfMachine = regexp.MustCompile(`(?s)<obj type="VirtualMachine">([^<]*)</obj>.*?(?:</objects>|</returnval>)`)
	saidOfConfig  = regexp.MustCompile(`(?s)<propSet><name>config[.<[].*?</propSet>`)
)

// over leaves configurations out of an answer that cannot be read: that is no error, they are not there.
func (v *veil) over(answer []byte) []byte {
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
