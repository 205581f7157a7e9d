// Command cloud-yandex simulates Yandex Cloud: a folder, and another one.
package main

import (
	"fmt"

	"github.com/millwright-dev/millwright/dev/clouds/command"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/yandex"
)

func main() {
	command.Main("cloud-yandex", func(clock *double.Clock, o command.Options) (double.Cloud, error) {
		inventory, err := command.Inventory(o, yandex.Sample())
		if err != nil {
			return nil, err
		}
		return folders{yandex.Administered{Cloud: yandex.New(clock, yandex.Options{Inventory: inventory, AcceptAny: o.AcceptAny, Boot: o.Boot})}, inventory}, nil
	})
}

// folders issue a key, because a file of samples must not contain one.
type folders struct {
	yandex.Administered
	inventory yandex.Inventory
}

// Manifests implements [command.Furnisher].
func (f folders) Manifests() ([]byte, error) {
	if len(f.inventory.ServiceAccounts) == 0 || len(f.inventory.Folders) == 0 {
		return nil, nil
	}
	key, err := f.IssueKey(f.inventory.ServiceAccounts[0].ID)
	if err != nil {
		return nil, err
	}
	f.StandFor(key)
	return fmt.Appendf(nil, `apiVersion: v1
kind: Secret
metadata: {name: yandex-credentials, namespace: default}
stringData: {serviceAccountJSON: %q, folderID: %q}
`, key, f.inventory.Folders[0]), nil
}
