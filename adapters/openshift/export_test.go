package openshift

// Settle lets the process be one that has worked for as long as Exists runs behind.
func (p *Provider) Settle() {
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	p.memory.first = p.memory.clock.Now().Add(-p.memory.lag)
}

// Classified is [classified].
var Classified = classified
