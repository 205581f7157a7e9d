package openshift

import "github.com/millwright-dev/millwright/adapters/internal/background"

// Settle makes the process one that has worked for longer than the read lag.
func (p *Provider) Settle() {
	p.startupLag = background.NewStartupLag(p.config.Clock, 0)
}

// Classified is [classified].
var Classified = classified
