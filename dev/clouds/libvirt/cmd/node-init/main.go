// Command node-init is the first process of a virtual machine of `make run PROVIDER=libvirt`. See package guest.
package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/millwright-dev/millwright/dev/clouds/libvirt/guest"
)

func main() {
	name, err := guest.Boot()
	if err != nil {
		fmt.Fprintln(os.Stderr, "node-init:", err)
		unix.Sync()
		_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
		os.Exit(1)
	}
	fmt.Println("node-init: node", name, "starts")
	for { // the init process reaps orphaned processes
		var status unix.WaitStatus
		if _, err := unix.Wait4(-1, &status, 0, nil); err != nil {
			_ = unix.Pause()
		}
	}
}
